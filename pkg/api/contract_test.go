package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/problem"
	"latchkey/pkg/store/storetest"
)

func TestTheContractIsServedUnchanged(t *testing.T) {
	s := newServer(t)
	s.Faults.Plan("", storetest.LostBefore, -1) // a read of the table would be a 503
	out := s.want(t, request{method: "GET", path: "/openapi.yaml"}, 200, "")
	if out.text != contractText || out.header.Get("Content-Type") != "application/yaml; charset=utf-8" {
		t.Errorf("%v %q", out.header, out.text)
	}
	if again := s.want(t, request{method: "GET", path: "/openapi.yaml"}, 200, ""); again.header.Get("ETag") != out.header.Get("ETag") {
		t.Errorf("ETag %s, then %s", out.header.Get("ETag"), again.header.Get("ETag"))
	}
}

// TestTheContractIsSentOnlyWhenItChanged: If-None-Match, RFC 9110, section 13.1.2.
func TestTheContractIsSentOnlyWhenItChanged(t *testing.T) {
	s := newServer(t)
	tag := s.want(t, request{method: "GET", path: "/openapi.yaml"}, 200, "").header.Get("ETag")
	strong := strings.TrimPrefix(tag, "W/") // a client may still have a strong tag of an earlier version
	if strong == tag {
		t.Errorf("the tag %s of an answer that may be compressed is strong", tag)
	}
	for ifNoneMatch, status := range map[string]int{
		tag: 304, strong: 304, `"other", ` + tag: 304, "*": 304, `"other"`: 200, strong[1:]: 200, "": 200,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			r := request{method: method, path: "/openapi.yaml", header: map[string]string{"If-None-Match": ifNoneMatch}}
			out := s.want(t, r, status, "")
			hasBody := out.text != "" || out.header.Get("Content-Type") != ""
			if out.header.Get("ETag") != tag || status == http.StatusNotModified && hasBody {
				t.Errorf("%s %s: %v %q", method, ifNoneMatch, out.header, out.text)
			}
		}
	}
}

// TestHEADIsAnsweredAsGET: the gateway computes Content-Length from the body, and then removes the body. The body of a HEAD
// request is ignored.
func TestHEADIsAnsweredAsGET(t *testing.T) {
	r := newKeyServer(t)
	for _, path := range []string{"/.well-known/jwks.json", "/openapi.yaml"} {
		get, head := r.want(t, request{method: "GET", path: path}, 200, ""), r.want(t, request{method: "HEAD", path: path}, 200, "")
		r.want(t, request{method: "HEAD", path: path, body: "x", contentType: "text/plain"}, 200, "")
		for _, name := range []string{"Content-Type", "Cache-Control"} {
			if head.header.Get(name) != get.header.Get(name) {
				t.Errorf("%s: %v, want %v", path, head.header, get.header)
			}
		}
		if head.text != get.text {
			t.Errorf("%s: %q, want %q", path, head.text, get.text)
		}
	}
	r.Faults.Plan("", storetest.LostBefore, -1)
	*r.now = r.now.Add(time.Minute) // the function reads the keys again
	r.want(t, request{method: "HEAD", path: "/.well-known/jwks.json"}, 503, problem.Unavailable)
}
