package jwks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/fetch"
)

// issuer is a token issuer that answers by path.
type issuer struct {
	*httptest.Server
	answers  map[string]string // body by path; "": 404; a text that begins with /: a redirect to it; "down": 502
	requests map[string]int    // number of requests by path
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{answers: map[string]string{}, requests: map[string]int{}}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.requests[r.URL.Path]++
		switch a := i.answers[r.URL.Path]; {
		case a == "":
			http.NotFound(w, r)
		case strings.HasPrefix(a, "/"):
			http.Redirect(w, r, a, http.StatusFound)
		case a == "down":
			w.WriteHeader(http.StatusBadGateway)
		default:
			fmt.Fprint(w, a)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

const documentPath = "/.well-known/openid-configuration"

func TestKeysAreFoundByTheDiscoveryDocument(t *testing.T) {
	i := newIssuer(t)
	i.answers["/keys"] = string(set(t, ecJWK(t)))
	for name, c := range map[string]struct {
		address, document string // the test replaces ISSUER with the issuer's URL
		wantError         string // a part of the error; "": the keys are found
	}{
		"by discovery":         {"", `{"issuer":"ISSUER","jwks_uri":"ISSUER/keys"}`, ""},
		"by its own address":   {"ISSUER/keys", "", ""},
		"no document":          {"", "", "no discovery document"},
		"no address in it":     {"", `{"issuer":"ISSUER"}`, "names no jwks_uri"},
		"another issuer's":     {"", `{"issuer":"https://id.example","jwks_uri":"ISSUER/keys"}`, "another issuer's"},
		"a document with 502":  {"", "down", "answers 502"},
		"keys with 404":        {"ISSUER/none", "", "answers 404"},
		"keys elsewhere":       {"ISSUER/moved", "", "answers 302"},
		"an address not a URL": {"http://%zz", "", "*url.Error, with url.EscapeError"},
	} {
		withURL := func(s string) string { return strings.ReplaceAll(s, "ISSUER", i.URL) }
		i.answers[documentPath], i.answers["/moved"] = withURL(c.document), "/keys"
		for _, slash := range []string{"", "/"} { // the issuer without and with a slash at its end
			hasIssuer := c.document != "" && c.document != "down"
			if slash != "" && hasIssuer {
				i.answers[documentPath] = strings.Replace(i.answers[documentPath], `"issuer":"`+i.URL, `"issuer":"`+i.URL+slash, 1)
			}
			d := NewDiscovery(i.URL+slash, i.Client(), Patient, time.Now)
			s, err := New(withURL(c.address), d, i.Client(), Patient, time.Now).Keys(t.Context())
			if c.wantError == "" {
				found := s.Knows("k") && len(s.Find("k", ES256)) == 1
				if err != nil || !found || !s.Asked() {
					t.Errorf("%s: %v", name, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.wantError) {
				t.Errorf("%s: %v", name, err)
			}
			_, err = d.Get(t.Context())
			if errors.Is(err, ErrNoDiscovery) != (c.document == "") {
				t.Errorf("%s: the document: %v", name, err)
			}
		}
	}
	if i.requests["/keys"] != 4 { // two cases that find keys, each with two names of the issuer
		t.Errorf("the keys were read %d times, want 4: a redirect was followed", i.requests["/keys"])
	}
}

// TestOnlyA404MeansNoDocument: each other status is a fault, and the document is read again later.
func TestOnlyA404MeansNoDocument(t *testing.T) {
	for _, status := range []int{201, 204, 301, 400, 401, 403, 404, 405, 408, 410, 429, 500, 503} {
		m := &moves{status: status}
		now := time.Now()
		d := NewDiscovery("https://id.example", &http.Client{Transport: m}, Patient, func() time.Time { return now })
		for range 2 {
			doc, err := d.Get(t.Context())
			if err == nil || doc != (Document{}) || errors.Is(err, ErrNoDiscovery) != (status == 404) {
				t.Errorf("%d: %+v %v", status, doc, err)
			}
			now = now.Add(Patient.Pause)
		}
		if len(m.requests) != 2 {
			t.Errorf("%d: requests %q, want two", status, m.requests)
		}
	}
}

// moves is a transport. It redirects requests for a discovery document, and answers other requests with the document.
type moves struct {
	status   int
	location string
	document string
	requests []string
}

func (m *moves) RoundTrip(r *http.Request) (*http.Response, error) {
	m.requests = append(m.requests, r.URL.String())
	if strings.HasSuffix(r.URL.Path, documentPath) {
		return &http.Response{StatusCode: m.status, Header: http.Header{"Location": {m.location}}, Body: http.NoBody, Request: r}, nil
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(m.document)), Request: r}, nil
}

// TestADiscoveryDocumentMayMoveOnItsServer: one redirect on the same server is followed, but no other.
func TestADiscoveryDocumentMayMoveOnItsServer(t *testing.T) {
	for _, c := range []struct {
		issuer, location, to string // to: the address of the second request; "": there is none
		status               int
	}{
		{"https://id.example", "/moved", "https://id.example/moved", 301},
		{"https://id.example", "moved?a=b", "https://id.example/.well-known/moved?a=b", 302},
		{"https://id.example", "https://id.example/moved", "https://id.example/moved", 303},
		{"https://id.example", "HTTPS://ID.EXAMPLE:443/moved", "https://ID.EXAMPLE:443/moved", 307},
		{"https://id.example:443", "//id.example/moved#a", "https://id.example/moved#a", 308},
		{"http://127.0.0.1:3009", "http://127.0.0.1:3009/moved", "http://127.0.0.1:3009/moved", 301},
		{"http://127.0.0.1", "http://127.0.0.1:80/moved", "http://127.0.0.1:80/moved", 301},
		{"https://id.example", documentPath, "https://id.example" + documentPath, 301}, // to itself
		{"https://id.example", "https://other.example/moved", "", 301},
		{"https://id.example", "//other.example/moved", "", 301},
		{"https://id.example", "https://id.example.other.example/moved", "", 301},
		{"https://id.example", "https://id.example:8443/moved", "", 301},
		{"https://id.example", "https://id.example:80/moved", "", 301},
		{"https://id.example", "http://id.example/moved", "", 301},
		{"https://id.example", "http://id.example:443/moved", "", 301},
		{"http://127.0.0.1", "https://127.0.0.1/moved", "", 301},
		{"https://id.example", "https://user@id.example/moved", "", 301},
		{"https://id.example", "https://id.example@other.example/moved", "", 301},
		{"https://id.example", "", "", 301}, {"https://id.example", "https://%zz/", "", 301},
		{"https://id.example", "/moved", "", 300}, {"https://id.example", "/moved", "", 304}, {"https://id.example", "/moved", "", 404},
	} {
		m := &moves{status: c.status, location: c.location, document: `{"issuer":"` + c.issuer + `"}`}
		_, err := NewDiscovery(c.issuer, &http.Client{Transport: m}, Patient, time.Now).Get(t.Context())
		want := []string{c.issuer + documentPath}
		if c.to != "" {
			want = append(want, c.to)
		}
		isFound := c.to != "" && c.location != documentPath
		if !slices.Equal(m.requests, want) || (err == nil) != isFound {
			t.Errorf("%d to %s: requests %q, %v", c.status, c.location, m.requests, err)
		}
	}
}

func TestAnAnswerHasAMebibyteAtMost(t *testing.T) {
	i := newIssuer(t)
	keys := string(set(t, ecJWK(t)))
	for size, want := range map[int]error{1 << 20: nil, 1<<20 + 1: fetch.ErrTooLarge} {
		i.answers["/a"] = keys + strings.Repeat(" ", size-len(keys))
		if _, err := New(i.URL+"/a", nil, i.Client(), Patient, time.Now).Keys(t.Context()); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	// cut is a server whose answers are shorter than their Content-Length.
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, `{}`)
	}))
	defer cut.Close()
	if _, err := New(cut.URL, nil, cut.Client(), Patient, time.Now).Keys(t.Context()); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("an answer that ends early: %v", err)
	}
}

// TestAnAnswerIsUsedUntilItsTimeIsOver checks each time in the package's comment, to the nanosecond. Each case is a list of
// calls of get.
func TestAnAnswerIsUsedUntilItsTimeIsOver(t *testing.T) {
	begun := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string][]struct {
		at     time.Duration // time since the first call
		answer error         // the issuer's answer, if it is called
		calls  bool          // whether the issuer is called
		want   int           // the number of the fetch whose answer is used; failed fetches count too; 0: none
	}{
		"fresh for 15 minutes": {
			{0, nil, true, 1}, {15*time.Minute - 1, nil, false, 1}, {15 * time.Minute, nil, true, 2},
		},
		"used for a day while calls fail": {
			{0, nil, true, 1}, {15 * time.Minute, errDown, true, 1},
			{15*time.Minute + 10*time.Second - 1, errDown, false, 1}, {15*time.Minute + 10*time.Second, errDown, true, 1},
			{24*time.Hour - 1, errDown, true, 1}, {24*time.Hour + time.Minute, errDown, true, 0},
			{24*time.Hour + time.Minute + time.Second, nil, true, 6},
		},
		"a withdrawn value is not used when it is no longer fresh": {
			{0, nil, true, 1}, {15 * time.Minute, errWithdrawn, true, 0}, {16 * time.Minute, errDown, true, 0},
			{17 * time.Minute, nil, true, 4}, {33 * time.Minute, errDown, true, 4},
		},
		"without any answer, the issuer is called again after a second": {
			{0, errDown, true, 0}, {time.Second - 1, nil, false, 0}, {time.Second, nil, true, 2},
		},
	} {
		var now time.Time
		var answer error
		calls := 0
		cache := &cached[int]{now: func() time.Time { return now }, patience: Patient, fetch: func(context.Context) (int, error) { calls++; return calls, answer }}
		for _, call := range c {
			now, answer = begun.Add(call.at), call.answer
			before := calls
			v, err := cache.get(t.Context())
			called := calls > before
			if called != call.calls || (err == nil) != (call.want != 0) || v.value != call.want {
				t.Errorf("%s: after %s: called %v, %d, %v", name, call.at, called, v.value, err)
			}
		}
	}
}

// TestAFetchIsForcedOnceInTenSeconds: a caller whose value was just fetched forces no fetch.
func TestAFetchIsForcedOnceInTenSeconds(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	calls, fault := 0, error(nil)
	c := &cached[int]{now: func() time.Time { return now }, patience: Patient, fetch: func(context.Context) (int, error) { calls++; return calls, fault }}
	seen, err := c.get(t.Context())
	if err != nil || !seen.asked {
		t.Fatal(seen, err)
	}
	if next, changed, err := c.newer(t.Context(), seen); changed || err != nil || next != seen || calls != 1 {
		t.Errorf("just fetched: %+v, %v, %v, %d calls", next, changed, err, calls)
	}
	for _, step := range []struct {
		after   time.Duration // time since the step before
		changed bool
		calls   int // all fetches so far
	}{
		{0, true, 2},
		{10*time.Second - 1, false, 2},
		{1, true, 3},
	} {
		now = now.Add(step.after)
		seen, err = c.get(t.Context())
		next, changed, errNewer := c.newer(t.Context(), seen)
		if err != nil || errNewer != nil || seen.asked {
			t.Errorf("%s later: %+v, %v, %v", step.after, seen, err, errNewer)
		}
		isNewest := next.value == calls && next.asked
		if changed != step.changed || calls != step.calls || changed && !isNewest {
			t.Errorf("%s later: %+v, %v, %d calls", step.after, next, changed, calls)
		}
	}
	old := view[int]{value: 1, round: 1}
	if next, changed, err := c.newer(t.Context(), old); err != nil || !changed || next.value != 3 || calls != 3 {
		t.Errorf("a value that another caller has fetched: %+v, %v, %v, %d calls", next, changed, err, calls)
	}
	now, fault = now.Add(time.Minute), errDown
	seen, _ = c.get(t.Context())
	if _, changed, err := c.newer(t.Context(), seen); changed || !errors.Is(err, errDown) || calls != 4 {
		t.Errorf("an issuer that is down: %v, %v, %d calls", changed, err, calls)
	}
}
