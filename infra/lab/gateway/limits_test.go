package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"latchkey/infra/lab/translated"
)

// throttledAPI returns a function that calls the test API's gateway, and its clock, which the test
// moves. The open route has a limit of its own.
func throttledAPI(t *testing.T, on bool) (f *functions, now *time.Time, ask func(method, path string) *httptest.ResponseRecorder) {
	t.Helper()
	api := testAPI()
	api.Responses["THROTTLED"] = translated.GatewayResponse{
		Parameters: map[string]string{"gatewayresponse.header.Retry-After": "'1'"}, Templates: map[string]string{"application/json": "slow down"},
	}
	api.Throttles = map[string]translated.Throttle{
		translated.AllMethods: {Rate: 10, Burst: 2}, "POST /open": {Rate: 1, Burst: 1},
	}
	f = newFunctions()
	g, err := New(api, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if on {
		g.Throttle()
	}
	start := time.UnixMilli(1_800_000_000_000)
	now = &start
	g.now = func() time.Time { return *now }
	return f, now, func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w
	}
}

// statusesOf returns the statuses of n requests.
func statusesOf(n int, ask func(method, path string) *httptest.ResponseRecorder, method, path string) (out []int) {
	for range n {
		out = append(out, ask(method, path).Code)
	}
	return out
}

func TestThrottleIsATokenBucketAMethod(t *testing.T) {
	_, now, ask := throttledAPI(t, true)
	for _, step := range []struct {
		after        time.Duration
		method, path string
		want         []int
	}{
		{0, "POST", "/open", []int{200, 429}},                       // its own burst of 1
		{0, "GET", "/v1/pets", []int{200, 200, 429, 429}},           // the stage's burst of 2
		{0, "GET", "/v1/pets/a", []int{200, 200, 429}},              // another method, another bucket
		{0, "GET", "/v1/pets/b", []int{429}},                        // the same method
		{99 * time.Millisecond, "GET", "/v1/pets", []int{429}},      // 10 a second
		{time.Millisecond, "GET", "/v1/pets", []int{200, 429}},      //
		{899 * time.Millisecond, "POST", "/open", []int{429}},       // 1 a second
		{time.Millisecond, "POST", "/open", []int{200, 429}},        //
		{time.Hour, "GET", "/v1/pets", []int{200, 200, 429}},        // no more than the burst is saved
		{0, "GET", "/nope", []int{403, 403, 403, 403, 403, 403}},    // an unknown route has no limit
		{time.Hour, "GET", "/v1/pets/new", []int{200, 200, 429}},    // a public route with the stage's limit
		{time.Second, "POST", "/open", []int{200, 429, 429, 429}},   //
		{time.Second / 2, "POST", "/open", []int{429}},              //
		{time.Second / 2, "POST", "/open", []int{200, 429}},         // a refused request took no token
		{10 * time.Second, "GET", "/files/x", []int{200, 200, 429}}, // ANY
	} {
		*now = now.Add(step.after)
		if got := statusesOf(len(step.want), ask, step.method, step.path); !reflect.DeepEqual(got, step.want) {
			t.Errorf("%s %s after %s: %v, want %v", step.method, step.path, step.after, got, step.want)
		}
	}
}

func TestThrottledIsTheTemplatesAnswer(t *testing.T) {
	f, _, ask := throttledAPI(t, true)
	statusesOf(2, ask, "GET", "/v1/pets")
	w := ask("GET", "/v1/pets")
	if w.Code != 429 || w.Body.String() != "slow down" || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if f.calls["Auth"] != 2 || f.calls["Pets"] != 2 {
		t.Errorf("the authorizer was called %d times, the function %d", f.calls["Auth"], f.calls["Pets"])
	}
}

func TestNothingIsThrottledUnasked(t *testing.T) {
	_, _, ask := throttledAPI(t, false)
	for i, status := range statusesOf(10, ask, "POST", "/open") {
		if status != 200 {
			t.Errorf("request %d: %d", i, status)
		}
	}
}

// TestHeaderLinesAreLimitedTogether sends raw requests, because a Go client adds lines of its own.
func TestHeaderLinesAreLimitedTogether(t *testing.T) {
	f, s := setUp(t, testAPI())
	lines := func(bytes, each int) string {
		out := "Host: x\r\n"
		for n := 0; len(out) < bytes; n++ {
			line := "H" + strconv.Itoa(n) + ": "
			rest := min(each, bytes-len(out))
			if left := bytes - len(out) - rest; left > 0 && left < 20 {
				rest += left
			}
			out += line + strings.Repeat("a", rest-len(line)-2) + "\r\n"
		}
		return out
	}
	for _, each := range []int{100, 1000, 20_000} {
		for bytes, want := range map[int]int{maxHeaders: 200, maxHeaders + 1: 431, 4 * maxHeaders: 431} {
			head := lines(bytes, each)
			if len(head) != bytes {
				t.Fatalf("%d bytes, want %d", len(head), bytes)
			}
			before := f.calls["Open"]
			res, body := raw(t, s, "POST /open HTTP/1.1\r\n"+head+"\r\n")
			if res.StatusCode != want || (f.calls["Open"] > before) != (want == 200) {
				t.Errorf("%d bytes, lines of %d: %s", bytes, each, res.Status)
			}
			if want == 431 && (body != `{"message":"HTTP header is larger than 10240 bytes."}` || res.Header.Get("Content-Type") != "application/json") {
				t.Errorf("a 431 with %v %q", res.Header, body)
			}
		}
	}
}

// raw sends bytes on a connection of their own and reads one answer.
func raw(t *testing.T, s *httptest.Server, request string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
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
		res, got := raw(t, s, "HEAD /files/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if got != "" || res.ContentLength != int64(len(body)) || len(res.TransferEncoding) != 0 {
			t.Errorf("%d bytes: %v %v, %d bytes of body", len(body), res.Header, res.TransferEncoding, len(got))
		}
	}
	if res, _ := raw(t, s, "HEAD /v1/pets/new HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != 403 {
		t.Errorf("HEAD of a route that has only GET: %s", res.Status)
	}
}
