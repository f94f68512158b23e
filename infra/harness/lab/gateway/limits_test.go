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
		for bytes, want := range map[int]int{10_240: 200, 10_241: 431, 40_960: 431} {
			g, err := New(testAPI(), newFunctions(), noLines, "")
			if err != nil {
				t.Fatal(err)
			}
			head := http.Header{}
			left := bytes - len("Host: x\r\n") // bytes for the other lines
			for n := lines; n > 0; n-- {
				line := left / n
				left -= line
				head.Add("A", strings.Repeat("a", line-len("A: \r\n")))
			}
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/open", nil)
			r.Host, r.Header = "x", head
			g.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%d bytes in %d lines: %d", bytes, lines, w.Code)
			}
			if want == 431 && w.Body.String() != `{"message":"HTTP header is larger than 10240 bytes."}` {
				t.Errorf("%d bytes in %d lines: %s", bytes, lines, w.Body)
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
