package standin

import (
	"regexp"
	"strings"
)

// hostOfS3 matches a host of S3 at the beginning of a path, with its bucket and its region. Both are optional: the global host has
// no region. boto3 puts the host there with the environment that testdata/hosts.py prints.
var hostOfS3 = regexp.MustCompile(`^/(?:([^/]+)\.)?s3(\.[a-z0-9-]+)?\.amazonaws\.com(?:/|$)`)

// objectAt returns the object of a path, as bucket/key. moved is the path to which the global host redirects a client, as on AWS for
// a new bucket outside us-east-1; "": another host, no redirect.
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
