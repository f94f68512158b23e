package cause_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"latchkey/pkg/cause"
)

const secret = "sk_live_45b2"

// endless is an error whose chain has no end.
type endless struct{ text string }

func (e endless) Error() string { return e.text }
func (e endless) Unwrap() error { return e }

// status is the error for an answer with a status.
type status int

func (status) Error() string         { return secret }
func (s status) HTTPStatusCode() int { return int(s) }

// claimed is an error of an owner's type that claims to be a runtime error or a timeout.
type claimed struct{ isTimeout bool }

func (claimed) Error() string   { return secret }
func (claimed) RuntimeError()   {}
func (c claimed) Timeout() bool { return c.isTimeout }

// TestOnlyKnownCausesHaveATextOfTheirOwn: of any other error, only the types are shown. No text contains the secret.
func TestOnlyKnownCausesHaveATextOfTheirOwn(t *testing.T) {
	dial := func(err error) error {
		return fmt.Errorf("asking for %s: %w", secret, &url.Error{Op: "Get", URL: "http://h/?key=" + secret, Err: &net.OpError{Op: secret, Net: secret, Err: err}})
	}
	syntax := json.Unmarshal([]byte("{}"+secret), new(any))
	mistyped := json.Unmarshal([]byte(`{"k":12345678901234567890}`), &struct{ K int }{})
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"refused":            {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "connection refused"},
		"no such host":       {dial(&net.DNSError{Name: secret, IsNotFound: true}), "there is no such host"},
		"a slow lookup":      {dial(&net.DNSError{Name: secret, IsTimeout: true}), "context deadline exceeded"},
		"a failed lookup":    {dial(&net.DNSError{Name: secret, Err: secret}), "the host's name cannot be looked up"},
		"a deadline":         {dial(os.ErrDeadlineExceeded), "context deadline exceeded"},
		"only a deadline":    {os.ErrDeadlineExceeded, "i/o timeout"},
		"an owner's timeout": {claimed{isTimeout: true}, "context deadline exceeded"},
		"not a timeout":      {claimed{}, "an error of the type cause_test.claimed"},
		"canceled":           {dial(context.Canceled), "context canceled"},
		"cut":                {dial(io.ErrUnexpectedEOF), "unexpected EOF"},
		"an authority":       {dial(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), "x509: certificate signed by unknown authority"},
		"an old certificate": {dial(x509.CertificateInvalidError{Reason: x509.Expired, Detail: secret}), "x509: certificate has expired or is not yet valid: "},
		"another name":       {dial(x509.HostnameError{Host: secret}), "the certificate is for another name"},
		"no TLS":             {dial(tls.RecordHeaderError{Msg: secret}), "the other side does not speak TLS"},
		"no JSON":            {syntax, "no JSON, from byte 3 on"},
		"a number":           {mistyped, "a JSON value of another type, at byte 25"},
		"a bad address":      {dial(url.EscapeError(secret)), "an error of the type *fmt.wrapError, with *url.Error, with *net.OpError, with url.EscapeError"},
		"joined":             {errors.Join(errors.New(secret), nil, dial(syscall.ECONNRESET)), "connection reset by peer"},
		"a status":           {fmt.Errorf("%w", status(100)), "the answer has status 100"},
		"the last status":    {status(599), "the answer has status 599"},
		"no status":          {status(99), "an error of the type cause_test.status"},
		"a long number":      {status(600), "an error of the type cause_test.status"},
		"words":              {errors.New(secret), "an error of the type *errors.errorString"},
		"base64":             {errors.New(base64.StdEncoding.EncodeToString([]byte(secret))), "an error of the type *errors.errorString"},
		"without an end":     {endless{secret}, "an error of the type cause_test.endless" + strings.Repeat(", with cause_test.endless", 31)},
		"a long chain":       {errors.Join(endless{secret}, io.EOF), "an error of the type *errors.joinError" + strings.Repeat(", with cause_test.endless", 31)},
	} {
		if got := cause.Of(c.err); got == nil || got.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
	if cause.Of(nil) != nil {
		t.Error("nil has a cause")
	}
}

// TestCausesOfRealFailuresAreKnown calls servers that fail in the usual ways of a network.
func TestCausesOfRealFailuresAreKnown(t *testing.T) {
	serve := func(h http.HandlerFunc) *httptest.Server {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s
	}
	plain := serve(func(http.ResponseWriter, *http.Request) {})
	slow := serve(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	rude := serve(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, secret+"\r\n\r\n")
			_ = conn.Close()
		}
	})
	moved := serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://%zz/"+secret)
		w.WriteHeader(301)
	})
	secure := httptest.NewTLSServer(plain.Config.Handler)
	t.Cleanup(secure.Close)
	client := &http.Client{Timeout: 200 * time.Millisecond}
	for address, want := range map[string]string{
		"http://127.0.0.1:1/":                    "connection refused",
		slow.URL:                                 "context deadline exceeded",
		rude.URL:                                 "an error of the type *url.Error, with ",
		moved.URL:                                "an error of the type *url.Error, with ",
		secure.URL:                               "x509: certificate signed by unknown authority",
		"https://" + plain.URL[len("http://"):]:  "http: server gave HTTP response to HTTPS client",
		"http://" + secret + ":x/":               "an error of the type *url.Error",
		"gopher://" + secret + "/?key=" + secret: "an error of the type *url.Error, with ",
		"http://" + secret + "@127.0.0.1:1/" + "": "connection refused",
	} {
		_, err := client.Get(address + "?key=" + secret)
		if got := cause.Of(err); got == nil || !strings.HasPrefix(got.Error(), want) || strings.Contains(got.Error(), secret) {
			t.Errorf("%s: %v, want %s", address, got, want)
		}
	}
}

func TestAPanicShowsItsPlaceAndType(t *testing.T) {
	for name, c := range map[string]struct {
		does func()
		want string // the text after the place
	}{
		"a text":          {func() { panic(secret) }, " with a value of type string"},
		"an error":        {func() { panic(errors.New(secret)) }, " with a value of type *errors.errorString"},
		"a struct":        {func() { panic(&struct{ s string }{secret}) }, " with a value of type *struct { s string }"},
		"an index":        {func() { _ = strings.Split(secret, ".")[3] }, ": runtime error: index out of range [3] with length 1"},
		"a type":          {func() { _ = any(secret).(int) }, ": interface conversion: interface {} is string, not int"},
		"a key of a map":  {func() { _ = map[any]bool{}[[]string{secret}] }, ": hash of unhashable type: []string"},
		"nil":             {func() { panic(nil) }, ": panic called with nil argument"}, //nolint:govet // an owner's mistake
		"a runtime error": {func() { panic(claimed{}) }, " with a value of type cause_test.claimed"},
		"its pointer":     {func() { panic(&claimed{}) }, " with a value of type *cause_test.claimed"},
	} {
		err := panicOf(c.does)
		place, words, ok := strings.Cut(err.Error(), "cause_test.go:")
		if words = strings.TrimLeft(words, "0123456789"); !ok || place != "panic at " || words != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// panicOf returns the error for the panic of a function.
func panicOf(does func()) (err error) {
	defer func() { err = cause.OfPanic(recover()) }()
	does()
	return nil
}
