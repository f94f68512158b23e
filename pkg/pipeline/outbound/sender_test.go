package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestAPostArrivesUnchanged(t *testing.T) {
	var got *http.Request
	var body string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "thank you")
	}))
	defer receiver.Close()
	header := http.Header{"Content-Type": {"application/jwt"}, "Webhook-Id": {"evt_1"}, "User-Agent": {"Latchkey-Webhooks/1"}}
	r := NewSender(onLoopback(t)).Post(context.Background(), receiver.URL+"/hook?a=b", header, []byte("a.b.c"))
	if r.Status != 202 || r.Answer != "thank you" || r.RetryAfter != 7*time.Second || r.Err != "" || r.Took <= 0 {
		t.Fatalf("%+v", r)
	}
	if got.Method != "POST" || got.URL.String() != "/hook?a=b" || body != "a.b.c" || got.ContentLength != 5 {
		t.Errorf("%s %s %q, length %d", got.Method, got.URL, body, got.ContentLength)
	}
	for name := range header {
		if got.Header.Get(name) != header.Get(name) {
			t.Errorf("%s: %q", name, got.Header.Get(name))
		}
	}
	if got.Header.Get("Accept-Encoding") != "" || got.Header.Get("Cookie") != "" || !got.Close {
		t.Errorf("sent %v, close %v", got.Header, got.Close)
	}
}

func TestNoCookieIsSentBack(t *testing.T) {
	seen := ""
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen += r.Header.Get("Cookie")
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
	}))
	defer receiver.Close()
	s := NewSender(onLoopback(t))
	for range 2 {
		if r := s.Post(context.Background(), receiver.URL, nil, nil); r.Status != 200 {
			t.Fatalf("%+v", r)
		}
	}
	if seen != "" {
		t.Errorf("cookie %q", seen)
	}
}

func TestTLSIsVerified(t *testing.T) {
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto)
	}))
	defer receiver.Close()
	known := x509.NewCertPool()
	known.AddCert(receiver.Certificate())

	s := NewSender(onLoopback(t), WithRoots(known))
	if r := s.Post(context.Background(), receiver.URL, nil, nil); r.Status != 200 || r.Answer != "HTTP/1.1" {
		t.Errorf("a known authority: %+v", r)
	}
	if r := NewSender(onLoopback(t)).Post(context.Background(), receiver.URL, nil, nil); r.Err != FailTLS || r.Status != 0 {
		t.Errorf("the system's authorities: %+v", r)
	}
	// The certificate is for 127.0.0.1, not for 127.0.0.2.
	other := strings.Replace(receiver.URL, "127.0.0.1", "127.0.0.2", 1)
	l, err := net.Listen("tcp4", strings.TrimPrefix(other, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.NotFoundHandler()}}
	wrong.TLS = &tls.Config{Certificates: receiver.TLS.Certificates}
	wrong.StartTLS()
	defer wrong.Close()
	if r := s.Post(context.Background(), other, nil, nil); r.Err != FailTLS {
		t.Errorf("another's certificate: %+v", r)
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	receiver := httptest.NewUnstartedServer(http.NotFoundHandler())
	receiver.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	receiver.StartTLS()
	defer receiver.Close()
	known := x509.NewCertPool()
	known.AddCert(receiver.Certificate())
	if r := NewSender(onLoopback(t), WithRoots(known)).Post(context.Background(), receiver.URL, nil, nil); r.Err != FailTLS {
		t.Errorf("%+v", r)
	}
}

func TestIPv6IsDialledToo(t *testing.T) {
	if !hasIPv6() {
		t.Skip("this machine has no IPv6 loopback")
	}
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	receiver := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.NotFoundHandler()}}
	receiver.Start()
	defer receiver.Close()
	if r := NewSender(onLoopback(t)).Post(context.Background(), receiver.URL, nil, nil); r.Status != 404 {
		t.Errorf("%+v", r)
	}
}

func TestAClosedPortIsAConnectFailure(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if r := NewSender(onLoopback(t)).Post(context.Background(), "http://"+l.Addr().String(), nil, nil); r.Err != FailConnect {
		t.Errorf("%+v", r)
	}
}

// TestADeadAddressLeavesTimeForTheNext: an address that never answers uses only its share of the time.
func TestADeadAddressLeavesTimeForTheNext(t *testing.T) {
	s := NewSender(NewGuard(nil), WithResolver(&answers{list: [][]string{{"1.1.1.1", "1.1.1.2", "1.1.1.3"}}}), WithTimeouts(time.Second, 300*time.Millisecond))
	var dialed []string
	s.beforeConnect = func(ctx context.Context, to string) error {
		dialed = append(dialed, to)
		if len(dialed) < 3 { // the first two addresses never answer
			<-ctx.Done()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errStop // there is time left
	}
	u, err := s.guard.parse("https://hook.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&attempt{sender: s, url: u}).dial(t.Context(), "tcp", "hook.example.com:443")
	if len(dialed) != 3 || !errors.Is(err, errStop) {
		t.Errorf("dialled %v: %v", dialed, err)
	}
}

func TestTheEndOfTheCallersContextEndsTheAttempt(t *testing.T) {
	to := raw(t, silent)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if r := NewSender(onLoopback(t)).Post(ctx, to, nil, nil); r.Err != FailCanceled || r.Took > time.Second {
		t.Errorf("%+v", r)
	}
	// The deadline of a caller is a timeout.
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if r := NewSender(onLoopback(t)).Post(ctx, to, nil, nil); r.Err != FailTimeout || r.Took > time.Second {
		t.Errorf("%+v", r)
	}
}

func TestAHeaderWithALineBreakIsNotSent(t *testing.T) {
	l, accepts := counting(t)
	to := "http://" + l.Addr().String()
	r := NewSender(onLoopback(t)).Post(context.Background(), to, http.Header{"A": {"b\r\nC: d"}}, nil)
	if r.Err != FailProtocol || accepts.Load() != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAnAnswerIsKeptInOnePrintableKilobyte(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":           {"not found", "not found"},
		"lines":           {"a\r\nb\tc\u2028d", "a  b c d"},
		"terminal":        {"\x1b[2Jx\x00\x7f", "\ufffd[2Jx\ufffd\ufffd"},
		"C1":              {"a\u009bb", "a\ufffdb"},
		"right to left":   {"a\u202eb\u2066", "a\ufffdb\ufffd"},
		"not UTF-8":       {"a\xff\xfeb", "a\ufffdb"},
		"other alphabets": {"größer 漢字 🙂", "größer 漢字 🙂"},
		"cut character":   {strings.Repeat("a", 1022) + "漢"[:2], strings.Repeat("a", 1022)},
		"cut emoji":       {strings.Repeat("a", 1021) + "🙂"[:3], strings.Repeat("a", 1021)},
		"not cut by us":   {"a" + "🙂"[:3], "a\ufffd"},                                    // it is shorter than what is kept
		"too many bad":    {strings.Repeat("\x01", 1024), strings.Repeat("\ufffd", 341)}, // U+FFFD has 3 bytes
		"empty":           {"", ""},
	} {
		got := printable([]byte(c.in))
		if got != c.want || len(got) > maxAnswer || !utf8.ValidString(got) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// FuzzAnAnswerIsAlwaysSafeToStore: the kept text of any answer is printable and has at most 1 KB. Visible ASCII stays unchanged.
func FuzzAnAnswerIsAlwaysSafeToStore(f *testing.F) {
	f.Add([]byte("a\x00\xff漢"))
	f.Add([]byte(strings.Repeat("漢\x85", 400)))
	f.Add([]byte("not found"))
	f.Add([]byte("\x1b[2J\r\n\u0085\u2028\u202e\ue000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := printable(b[:min(len(b), maxAnswer)])
		isUnsafe := func(r rune) bool {
			return r != ' ' && unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
		}
		if len(got) > maxAnswer || !utf8.ValidString(got) || strings.ContainsFunc(got, isUnsafe) {
			t.Errorf("%q became %q", b, got)
		}
		isPlain := len(b) <= maxAnswer && !strings.ContainsFunc(string(b), func(r rune) bool { return r < ' ' || r > '~' })
		if again := printable([]byte(got)); again != got || isPlain && got != string(b) {
			t.Errorf("%q became %q, and then %q", b, got, again)
		}
	})
}

func TestTheLongestOfSeveralRetryAfterApplies(t *testing.T) {
	for want, values := range map[time.Duration][]string{
		0: nil, 9 * time.Second: {"9"}, 8 * time.Second: {"8", "3"}, 7 * time.Second: {"3", "7", "x"}, 6 * time.Second: {"-1", "", "6"}, 5 * time.Second: {"5, 3", "x,4,"}, time.Hour: {"3", "2 ,3600, 9", ","},
	} {
		if got := longest(values, time.Now()); got != want {
			t.Errorf("%q: %s, want %s", values, got, want)
		}
	}
}

func TestRetryAfterIsReadAsSecondsOrDate(t *testing.T) {
	const week = 7 * 24 * time.Hour
	now := time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC) // 12:00:00.5: the wait until a date is rounded up
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, " 5 ": 5 * time.Second, "-5": 0, "1.5": time.Second, "120.0": 2 * time.Minute, "60.": time.Minute, ".5": 0, "1.5.5": 0, "1.x": 0, "-1.5": 0, "soon": 0, "5 s": 0,
		"604800": week, "604801": week, "18446744073709551615": week,
		"99999999999999999999999999":     week,
		"Sun, 01 Mar 2026 12:01:00 GMT":  time.Minute,
		"Sunday, 01-Mar-26 12:01:00 GMT": time.Minute,
		"Sun Mar  1 12:01:00 2026":       time.Minute,
		"Sun, 01 Mar 2026 11:59:00 GMT":  0,
		"Fri, 01 Mar 9999 12:00:00 GMT":  week,
		"Sun, 32 Mar 2026 12:01:00 GMT":  0,
		"Sun, 01 Mar 2026 12:01:00 UTC":  time.Minute, "Sun, 01 Mar 2026 12:01:00 +0000": time.Minute, "Sun, 01 Mar 2026 12:01:00 +0100": 0,
		"2026-03-01T12:01:00Z":           0, // not one of the three forms of a date in RFC 9110
		"Sun, 01 Mar 2026 12:01:00 +000": 0, "Sun, 01 Mar 2026 13:01:00 CET": 0, "+120": 0, "1e3": 0, "120, 60": 0, "0x10": 0, "\t120\t": 2 * time.Minute, "00120": 2 * time.Minute,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
