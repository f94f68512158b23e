package gateway

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

func TestHeaderLinesAreLimitedTogether(t *testing.T) {
	for _, lines := range []int{1, 100} {
		for bytes, want := range map[int]int{maxHeaders: 200, maxHeaders + 1: 431, 4 * maxHeaders: 431} {
			g, err := New(testAPI(), newFunctions(), nil)
			if err != nil {
				t.Fatal(err)
			}
			head := http.Header{}
			left := bytes - len("Host: x\r\n")
			for n := lines; n > 0; n-- {
				line := left / n
				left -= line
				head.Add("A", strings.Repeat("a", line-len("A: \r\n")))
			}
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/open", nil)
			r.Host, r.Header = "x", head
			g.ServeHTTP(w, r)
			if w.Code != want || want == 431 && w.Body.String() != `{"message":"HTTP header is larger than 10240 bytes."}` {
				t.Errorf("%d bytes in %d lines: %d %s", bytes, lines, w.Code, w.Body)
			}
		}
	}
}

func TestBytesThatAreNotUTF8ArriveAsReplacements(t *testing.T) {
	f, s := setUp(t, testAPI())
	do(t, "POST", s.URL+"/open", "a\xffb\xc3")
	if got := f.events["Open"]["body"]; got != "a\uFFFDb\uFFFD" {
		t.Errorf("the function got %q", got)
	}
}

func TestParametersWithSemicolonsArrive(t *testing.T) {
	f, s := setUp(t, testAPI())
	do(t, "POST", s.URL+"/open?limit=1;x&a;b=%3B&&c", "")
	want := map[string]any{"limit": []any{"1;x"}, "a;b": []any{";"}, "c": []any{""}}
	if got := f.events["Open"]["multiValueQueryStringParameters"]; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAnswerToHEADHasTheLengthAndNoBody(t *testing.T) {
	f, s := setUp(t, testAPI())
	for _, body := range []string{"fine", strings.Repeat("a", 100_000)} {
		f.answer["Open"] = func(map[string]any) (any, error) {
			return map[string]any{"statusCode": 200, "headers": map[string]any{"Content-Type": "text/plain"}, "body": body}, nil
		}
		res, got := do(t, "HEAD", s.URL+"/files/x", "")
		if got != "" || res.ContentLength != int64(len(body)) || len(res.TransferEncoding) != 0 {
			t.Errorf("%d bytes: %v %v, %d bytes of body", len(body), res.Header, res.TransferEncoding, len(got))
		}
	}
	if res, _ := do(t, "HEAD", s.URL+"/v1/pets/new", ""); res.StatusCode != 403 {
		t.Errorf("HEAD of a route that has only GET: %s", res.Status)
	}
}
