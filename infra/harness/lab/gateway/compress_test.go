package gateway

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// packed returns a text in gzip.
func packed(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, text)
	if errClose := w.Close(); err != nil || errClose != nil {
		t.Fatal(err, errClose)
	}
	return out.String()
}

// TestRequestsAreUnpackedAsOnAWS has cases from AWS's guide ("Call an API method with a compressed payload"). Users report that the
// function gets the header Content-Encoding with the unpacked body.
func TestRequestsAreUnpackedAsOnAWS(t *testing.T) {
	long, bomb := strings.Repeat("long ", 1000), strings.Repeat("0", 10<<20+1)
	for name, c := range map[string]struct {
		coding, sent string
		from, status int
		arrives      string
	}{
		"gzip":                             {"gzip", packed(t, long), 0, 200, long},
		"GZIP":                             {"GZIP", packed(t, long), 0, 200, long},
		"identity":                         {"identity", long, 0, 200, long},
		"smaller than CompressFrom":        {"gzip", "\x1f\x8b", 1024, 200, "\x1f\ufffd"},
		"brotli":                           {"br", "x", 0, 415, ""},
		"two codings":                      {"gzip, gzip", packed(t, long), 0, 415, ""},
		"another coding than the header's": {"gzip", long, 0, 415, ""},
		"incomplete":                       {"gzip", packed(t, long)[:20], 0, 415, ""},
		"10 MB at most":                    {"gzip", packed(t, bomb[1:]), 0, 200, bomb[1:]},
		"more than 10 MB":                  {"gzip", packed(t, bomb), 0, 413, ""},
	} {
		api := testAPI()
		api.CompressFrom = c.from
		f, s := setUp(t, api)
		res, text := do(t, "POST", s.URL+"/open", c.sent, "Content-Encoding", c.coding)
		if res.StatusCode != c.status || f.calls["Open"] != map[bool]int{true: 1}[c.status == 200] {
			t.Errorf("%s: %d %.100s", name, res.StatusCode, text)
			continue
		}
		if c.status != 200 {
			continue
		}
		headers, _ := f.events["Open"]["headers"].(map[string]any)
		if body, _ := f.events["Open"]["body"].(string); body != c.arrives || headers["Content-Encoding"] != c.coding {
			t.Errorf("%s: %d bytes arrive with %v", name, len(body), headers)
		}
	}
}

// TestAnswersAreCompressedAsOnAWS has cases from AWS's guide ("Receive an API response with a compressed payload").
func TestAnswersAreCompressedAsOnAWS(t *testing.T) {
	body := strings.Repeat("a", 1024)
	for accepted, compressed := range map[string]bool{
		"gzip": true, "GZIP": true, "gzip, deflate, br": true,
		"": false, "*": false, "br, gzip;q=0.9": false, "identity": false, "gzip;q=0": false, "br": false,
	} {
		for _, c := range []struct {
			from, length int  // CompressFrom, and the bytes of the answer
			coded        bool // the function's answer has a Content-Encoding
			compresses   bool // the gateway must compress it, for a client that accepts gzip
		}{{1024, 1024, false, true}, {1024, 1023, false, false}, {0, 1024, false, false}, {1, 1024, true, false}} {
			api := testAPI()
			api.CompressFrom = c.from
			f := newFunctions()
			f.answer["Open"] = func(map[string]any) (any, error) {
				headers := map[string]any{"Content-Type": "text/plain"}
				if c.coded {
					headers["Content-Encoding"] = "own"
				}
				return map[string]any{"statusCode": 200, "headers": headers, "body": body[:c.length]}, nil
			}
			g, err := New(api, f, noLines, "")
			if err != nil {
				t.Fatal(err)
			}
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/open", nil)
			if accepted != "" {
				r.Header.Set("Accept-Encoding", accepted)
			}
			g.ServeHTTP(w, r)
			got := w.Body.String()
			isGzip := w.Header().Get("Content-Encoding") == "gzip"
			if isGzip {
				unpacked, err := gzip.NewReader(w.Body)
				if err != nil {
					t.Fatal(err)
				}
				all, _ := io.ReadAll(unpacked)
				got = string(all)
			}
			if isGzip != (compressed && c.compresses) || got != body[:c.length] {
				t.Errorf("%q, %+v: %v", accepted, c, w.Header())
			}
		}
	}
}
