package problem_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"latchkey/pkg/problem"
)

func write(t *testing.T, err error) (*httptest.ResponseRecorder, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	problem.Write(problem.WithRequestID(context.Background(), "request-1"), w, err)
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	return w, body
}

func TestEveryCodeHasItsOwnBody(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range problem.Codes() {
		w, body := write(t, problem.New(c, "Detail."))
		if w.Code < 400 || body["status"] != float64(w.Code) || body["code"] != string(c) || body["title"] == "" ||
			body["type"] != "urn:latchkey:problem:"+string(c) || body["requestId"] != "request-1" {
			t.Errorf("%s: %d %v", c, w.Code, body)
		}
		if seen[c.Title()] {
			t.Errorf("%s: two codes have this title", c)
		}
		seen[c.Title()] = true
		if retry := w.Header().Get("Retry-After"); (retry == "1") != (w.Code == 503 || w.Code == 429) {
			t.Errorf("%s: Retry-After %q", c, retry)
		}
	}
}

func TestRetryAfterIsRoundedUp(t *testing.T) {
	for after, want := range map[time.Duration]string{
		0: "1", time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 1400 * time.Millisecond: "2", 2 * time.Second: "2", time.Minute + time.Millisecond: "61",
	} {
		for _, code := range []problem.Code{problem.RateLimited, problem.Unavailable} {
			if w, _ := write(t, &problem.Error{Code: code, RetryAfter: after}); w.Header().Get("Retry-After") != want {
				t.Errorf("%s after %s: %q, want %q", code, after, w.Header().Get("Retry-After"), want)
			}
		}
	}
}

func TestTheCallerNeverSeesTheCause(t *testing.T) {
	for _, err := range []error{
		errors.New("secret cause"), problem.Wrap(problem.Unavailable, "Try again.", errors.New("secret cause")),
		fmt.Errorf("outer secret: %w", problem.Wrap(problem.Internal, "x", errors.New("secret cause"))),
	} {
		if w, _ := write(t, err); strings.Contains(w.Body.String(), "secret") {
			t.Errorf("shown: %s", w.Body)
		}
		if !strings.Contains(problem.From(err).Error(), "secret") {
			t.Errorf("the log does not see the cause of %v", err)
		}
	}
}

func TestARefusalHasStatus401Or403Or429(t *testing.T) {
	for _, code := range problem.Codes() {
		p, ok := problem.Refusal(fmt.Errorf("wrapped: %w", problem.New(code, "x")))
		if want := code.Status() == 401 || code.Status() == 403 || code.Status() == 429; ok != want || ok && p.Code != code {
			t.Errorf("%s: %v", code, ok)
		}
	}
	if _, ok := problem.Refusal(errors.New("x")); ok {
		t.Error("an error without a code is a refusal")
	}
}

func TestAnUnknownErrorIsA500(t *testing.T) {
	for _, err := range []error{errors.New("x"), problem.New("no_such_code", "x")} {
		if w, body := write(t, err); w.Code != 500 || body["code"] != "internal" {
			t.Errorf("%v: %d %v", err, w.Code, body)
		}
	}
}

// TestOnlyErrorsThatASignInEndsHaveAChallenge: these are insufficient_user_authentication and token_ended (RFC 9470).
func TestOnlyErrorsThatASignInEndsHaveAChallenge(t *testing.T) {
	for _, code := range problem.Codes() {
		w, body := write(t, &problem.Error{Code: code, MaxAge: 5 * time.Minute})
		challenge := w.Header().Get("WWW-Authenticate")
		if code != problem.InsufficientUserAuthentication && code != problem.TokenEnded {
			if challenge != "" {
				t.Errorf("%s: %s", code, challenge)
			}
		} else if challenge != `Bearer error="insufficient_user_authentication", max_age="300"` || body["maxAge"] != 300.0 {
			t.Errorf("%s, %v", challenge, body)
		}
	}
}

func TestAnErrorIsKnownByItsCode(t *testing.T) {
	for err, want := range map[error]bool{
		problem.New(problem.LastAdmin, "x"): true, fmt.Errorf("wrapped: %w", problem.Wrap(problem.LastAdmin, "x", errors.New("y"))): true,
		problem.New(problem.Conflict, "x"): false, errors.New("last_admin"): false,
	} {
		if problem.Is(err, problem.LastAdmin) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
	e := problem.Invalid("/name", "required", "Give a name.")
	if e.Code != problem.ValidationFailed || len(e.Fields) != 1 || e.Fields[0] != (problem.Field{Pointer: "/name", Code: "required", Message: "Give a name."}) {
		t.Errorf("%+v", e)
	}
}

// FuzzWrite: an error with any texts becomes one line of valid JSON, with the status of its code. The caller sees its texts,
// but not its cause.
func FuzzWrite(f *testing.F) {
	for _, c := range problem.Codes() {
		f.Add(string(c), "Detail.", "/a~1b", "cause", int64(0))
	}
	for _, text := range []string{"", "\r\nSet-Cookie: a=b", "a\xff\x00\u2028<\"\\", `{"status":200}`} {
		f.Add(text, text, text, text, int64(-1))
	}
	f.Fuzz(func(t *testing.T, code, detail, pointer, cause string, wait int64) {
		fault := problem.Field{Pointer: pointer, Code: "type", Message: detail}
		e := problem.Error{Code: problem.Code(code), Detail: detail, Fields: []problem.Field{fault}, RetryAfter: time.Duration(wait)}
		without, _ := write(t, &e)
		e.Cause, e.KeyID = errors.New(cause), cause
		w, body := write(t, fmt.Errorf("%s: %w", cause, &e))
		text := w.Body.String()
		if text != without.Body.String() || !utf8.ValidString(text) || strings.IndexByte(text, '\n') != len(text)-1 {
			t.Errorf("%q with the cause %q: %q", without.Body, cause, text)
		}
		want := problem.Internal
		if slices.Contains(problem.Codes(), e.Code) {
			want = e.Code
		}
		valid := func(s string) string { return string([]rune(s)) } // with U+FFFD in place of each byte that is not UTF-8
		faults := []any{map[string]any{"pointer": valid(pointer), "code": "type", "message": valid(detail)}}
		if w.Code != want.Status() || body["status"] != float64(w.Code) || body["code"] != string(want) || body["title"] != want.Title() ||
			body["detail"] != valid(detail) || !reflect.DeepEqual(body["errors"], faults) {
			t.Errorf("%d %s, want %s", w.Code, text, want)
		}
		if after := w.Header().Get("Retry-After"); (w.Code == 503 || w.Code == 429) != (after != "" && after[0] >= '1') {
			t.Errorf("%s: Retry-After %q", want, after)
		}
	})
}

func TestOverLimitsHasTheLimitsAndTheWait(t *testing.T) {
	violated := []string{"300-per-day"}
	err := problem.OverLimits("None left.", violated, time.Minute)
	if err.Code != problem.RateLimited || !slices.Equal(err.Violated, violated) || err.RetryAfter != time.Minute || err.Detail != "None left." {
		t.Errorf("%+v", err)
	}
}

// TestARefusalShowsOnlyShortPartsOfARequest: at most 10 faults, and 256 bytes of each pointer, in whole characters.
func TestARefusalShowsOnlyShortPartsOfARequest(t *testing.T) {
	for pointer, want := range map[string]string{
		"/" + strings.Repeat("<", 255): "/" + strings.Repeat("<", 255), "/" + strings.Repeat("<", 256): "/" + strings.Repeat("<", 255) + "…",
		"?" + strings.Repeat("é", 1e6): "?" + strings.Repeat("é", 127) + "…", "/a" + strings.Repeat("é", 127): "/a" + strings.Repeat("é", 127),
		"/abc" + strings.Repeat("😀", 70): "/abc" + strings.Repeat("😀", 63) + "…",
	} {
		many := make([]problem.Field, 1000)
		for i := range many {
			many[i] = problem.Field{Pointer: pointer, Code: "unknown", Message: "m" + strconv.Itoa(i)}
		}
		for _, n := range []int{1, 9, 10, 11, 1000} {
			fields := many[:n]
			w, body := write(t, &problem.Error{Code: problem.InvalidJSON, Fields: fields})
			got, _ := body["errors"].([]any)
			if len(got) != min(n, 10) || w.Body.Len() > 5000 || fields[0].Pointer != pointer {
				t.Fatalf("%.9s: %d of %d faults, %d bytes", pointer, len(got), n, w.Body.Len())
			}
			for i, f := range got {
				if m, _ := f.(map[string]any); m["pointer"] != want || m["message"] != "m"+strconv.Itoa(i) {
					t.Errorf("%.9s: %v, want %s", pointer, m, want)
				}
			}
		}
	}
}

// TestAChallengeHasOnlyScopesThatFitIntoQuotes (RFC 6750, section 3). With any other scope there is no challenge.
func TestAChallengeHasOnlyScopesThatFitIntoQuotes(t *testing.T) {
	for want, scopes := range map[string][]string{
		`Bearer error="insufficient_scope", scope="invoices:read !~"`: {"invoices:read", "!~"}, `Bearer error="insufficient_scope", scope="a"`: {"a"},
	} {
		if got := (&problem.Error{Code: problem.InsufficientScope, Scopes: scopes}).Challenge(); got != want {
			t.Errorf("%q: %s", scopes, got)
		}
	}
	for _, scope := range []string{"", `"`, `\`, "a b", "\x7f", "ä"} {
		if got := (&problem.Error{Code: problem.InsufficientScope, Scopes: []string{"a", scope}}).Challenge(); got != "" {
			t.Errorf("%q: %s", scope, got)
		}
	}
	for _, e := range []*problem.Error{{Code: problem.InsufficientScope}, {Code: problem.InsufficientRole, Scopes: []string{"a"}}} {
		if got := e.Challenge(); got != "" {
			t.Errorf("%v: %s", e, got)
		}
	}
}
