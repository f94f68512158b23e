package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// The limits of an attempt.
const (
	maxAnswer  = 1024     // bytes kept of the answer's body
	maxHeaders = 16 << 10 // bytes of the answer's status line and headers
	bufferSize = 4 << 10  // bytes, one to read and one to write
)

// The classes of a failure, short and public: none tells an address.
const (
	ErrRefused  = "address_blocked" // the guard refused the URL or what its host resolves to
	ErrDNS      = "dns_failed"      // the name has no address, or none in time
	ErrConnect  = "connect_failed"  // no connection, or none in time
	ErrTLS      = "tls_failed"      // the handshake failed, or took too long
	ErrTimeout  = "timeout"         // no status within the time of the attempt
	ErrCanceled = "canceled"        // the caller gave up
	ErrProtocol = "protocol_error"  // what came back is no HTTP, or its headers are too large; or the request is not valid
)

// Result is what came of an attempt. A status that arrived stands, whatever
// became of the body after it: Err is empty then, and Status is 0 otherwise.
type Result struct {
	Status     int           // as received; a redirect is its 3xx
	Answer     string        // the beginning of the body: at most 1,024 bytes of valid UTF-8 on one line
	RetryAfter time.Duration // from Retry-After, whole seconds, 0 without one, at most MaxRetryAfter
	Took       time.Duration // all of it, with the name's resolution
	Err        string        // one of the Err constants, or empty
}

// Resolver finds the addresses of a name; *net.Resolver is one. network is
// "ip", and the name is absolute, with a dot at its end.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, name string) ([]netip.Addr, error)
}

// Sender posts to addresses that its guard permits. Many goroutines may use
// one: attempts share nothing but settings.
type Sender struct {
	guard    *Guard
	resolver Resolver
	roots    *x509.CertPool

	total     time.Duration // of the attempt
	connect   time.Duration // to resolve the name and to connect
	handshake time.Duration // of TLS
	answer    time.Duration // to read the body, once there is a status

	// permitted runs at each socket that the guard permits, before it connects.
	// Tests set it, so that none of them leaves the machine.
	permitted func(to string) error
}

// Option changes a Sender.
type Option func(*Sender)

// WithResolver sets who resolves names, net.DefaultResolver otherwise.
func WithResolver(r Resolver) Option { return func(s *Sender) { s.resolver = r } }

// WithRoots sets the certificate authorities, the system's otherwise.
func WithRoots(pool *x509.CertPool) Option { return func(s *Sender) { s.roots = pool } }

// WithTimeouts sets the time of a whole attempt, 10 s otherwise, and of
// resolving and connecting, 3 s otherwise.
func WithTimeouts(total, connect time.Duration) Option {
	return func(s *Sender) { s.total, s.connect = total, connect }
}

// NewSender gives a sender that asks g at every socket.
func NewSender(g *Guard, opts ...Option) *Sender {
	s := &Sender{
		guard:     g,
		resolver:  net.DefaultResolver,
		total:     10 * time.Second,
		connect:   3 * time.Second,
		handshake: 5 * time.Second,
		answer:    2 * time.Second,
	}
	for _, o := range opts {
		o(s)
	}
	return s
}

// Post makes one attempt: one connection, one request, no redirect followed,
// no second try. It returns within the sender's time, and sooner when ctx ends.
// It changes no header but the ones that HTTP itself needs.
func (s *Sender) Post(ctx context.Context, rawURL string, header http.Header, body []byte) Result {
	began := time.Now()
	r := s.post(ctx, rawURL, header, body)
	r.Took = time.Since(began)
	return r
}

func (s *Sender) post(ctx context.Context, rawURL string, header http.Header, body []byte) Result {
	u, err := s.guard.CheckURL(ctx, rawURL)
	if err != nil {
		return Result{Err: ErrRefused}
	}
	ctx, cancel := context.WithTimeout(ctx, s.total)
	defer cancel()

	a := &attempt{sender: s, url: u}
	req, err := http.NewRequestWithContext(a.trace(ctx), http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return Result{Err: ErrProtocol}
	}
	if header != nil {
		req.Header = header.Clone()
	}
	// The transport alone, no http.Client: it follows no redirect and keeps no
	// cookie because it does not know how.
	res, err := s.transport(a).RoundTrip(req)
	if err != nil {
		return Result{Err: a.class(ctx, err)}
	}
	defer func() { _ = res.Body.Close() }() // it cuts the connection, whatever is left on it
	a.hurry(s.answer)
	return Result{
		Status:     res.StatusCode,
		Answer:     beginning(res.Body),
		RetryAfter: retryAfter(res.Header.Get("Retry-After"), time.Now()),
	}
}

// transport makes the transport of one attempt. It costs some kilobytes, and
// nothing of one stranger's connection is there for another: no pool, no lock,
// no session. Keep-alive would save a handshake to a receiver that has many
// events, and would let each of them hold a socket of ours open.
func (s *Sender) transport(a *attempt) *http.Transport {
	// HTTP/1.1 alone: one request on one connection gains nothing from HTTP/2,
	// whose client tries again by itself and buffers megabytes ahead.
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  nil, // of the environment: it would be dialled in the receiver's place
		DialContext:            a.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.roots},
		TLSHandshakeTimeout:    s.handshake,
		DisableKeepAlives:      true,
		DisableCompression:     true, // 1 KB of gzip is kept as it is, never inflated
		MaxResponseHeaderBytes: maxHeaders,
		ReadBufferSize:         bufferSize,
		WriteBufferSize:        bufferSize,
		Protocols:              &protocols,
	}
}

// beginning gives the beginning of an answer. The status has decided already,
// and the text is for people, so it gets little time (hurry): a receiver that
// answers 200 and then sends a byte a second holds nothing up.
func beginning(body io.Reader) string {
	// What was read before an error is still the answer's beginning.
	b, _ := io.ReadAll(io.LimitReader(body, maxAnswer))
	return printable(b)
}

// hostOf gives the name or the address of a URL, and whether it is an address.
func hostOf(u *url.URL) (host string, isLiteral bool) {
	_, isLiteral = literal(u)
	return u.Hostname(), isLiteral
}
