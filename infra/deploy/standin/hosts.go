package standin

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// hosts writes boto3 a rule set by which each address of S3 begins with the stand-in's URL, before the host that boto3 chose.
//
//go:embed hosts.py
var hosts string

// S3Hosts returns variables of an environment by which boto3 reaches the stand-in as AWS, and chooses between the hosts of S3 as
// on AWS: AWS_ENDPOINT_URL would replace them all. python has boto3; dir gets a file.
func (s *Standin) S3Hosts(ctx context.Context, python, dir string) ([]string, error) {
	out, err := exec.CommandContext(ctx, python, "-c", hosts, dir, s.URL).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	env := []string{"AWS_DATA_PATH=" + dir}
	for _, service := range strings.Fields("STS CLOUDFORMATION IAM SNS ACM EVENTBRIDGE DYNAMODB KMS LAMBDA API_GATEWAY APIGATEWAYV2 RESOURCE_GROUPS_TAGGING_API CLOUDWATCH SQS") {
		env = append(env, "AWS_ENDPOINT_URL_"+service+"="+s.URL)
	}
	return env, nil
}

// hostOfS3 matches S3's host at the beginning of a path: the bucket that may be in it, and the region, which the global host lacks.
var hostOfS3 = regexp.MustCompile(`^/(?:([^/]+)\.)?s3(\.[a-z0-9-]+)?\.amazonaws\.com/`)

// objectAt returns the bucket and the key of a path, as bucket/key. moved is where the global host sends a client with it: a new
// bucket is only known at its region's host, but for us-east-1. Without a host of S3, moved is "".
func objectAt(path string) (object, moved string) {
	host := hostOfS3.FindStringSubmatch(path)
	if host == nil {
		return strings.TrimPrefix(path, "/"), ""
	}
	object = strings.TrimPrefix(path, host[0])
	if host[1] != "" {
		object = host[1] + "/" + object
	}
	if host[2] == "" {
		moved = "/s3." + region + ".amazonaws.com/" + object
	}
	return object, moved
}
