package standin

import (
	"regexp"
	"strings"
)

// hostOfS3 matches S3's host at the beginning of a path: the bucket that may be in it, and the region, which the global host lacks.
// boto3 puts it there with the environment that testdata/hosts.py prints.
var hostOfS3 = regexp.MustCompile(`^/(?:([^/]+)\.)?s3(\.[a-z0-9-]+)?\.amazonaws\.com(?:/|$)`)

// objectAt returns the bucket and the key of a path, as bucket/key. moved is where the global host sends a client with it, as AWS's
// does for a new bucket outside us-east-1; "": it is another host.
func objectAt(path string) (object, moved string) {
	host := hostOfS3.FindStringSubmatch(path)
	if host == nil {
		return strings.TrimPrefix(path, "/"), ""
	}
	object = strings.TrimPrefix(host[1]+"/"+strings.TrimPrefix(path, host[0]), "/")
	if host[2] == "" {
		moved = "/s3." + region + ".amazonaws.com/" + object
	}
	return object, moved
}
