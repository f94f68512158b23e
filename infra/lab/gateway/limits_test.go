package gateway

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"latchkey/infra/lab/translated"
)

// throttledAPI returns a function that calls the test API's gateway, and its clock, which the test
// moves. The open route has a limit of its own.
func throttledAPI(t *testing.T, on bool) (f *functions, now *time.Time, ask func(method, path string, headers ...http.Header) *httptest.ResponseRecorder) {
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
	return f, now, func(method, path string, headers ...http.Header) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, nil)
		r.Host = "x"
		for _, h := range headers {
			r.Header = h
		}
		g.ServeHTTP(w, r)
		return w
	}
}

// statusesOf returns the statuses of n requests.
func statusesOf(n int, ask func(method, path string, headers ...http.Header) *httptest.ResponseRecorder, method, path string) (out []int) {
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

func TestHeaderLinesAreLimitedTogether(t *testing.T) {
	for _, lines := range []int{1, 100} {
		for bytes, want := range map[int]int{maxHeaders: 200, maxHeaders + 1: 431, 4 * maxHeaders: 431} {
			_, _, ask := throttledAPI(t, false)
			head := http.Header{}
			left := bytes - len("Host: x\r\n")
			for n := lines; n > 0; n-- {
				line := left / n
				left -= line
				head.Add("A", strings.Repeat("a", line-len("A: \r\n")))
			}
			w := ask("POST", "/open", head)
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
