package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
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
	bufferSize = 4 << 10  // bytes of each of the two buffers, to read and to write
)

// The classes of a failure, short and public: none shows an address.
const (
	FailRefused  = "address_blocked" // the guard refused the URL, or an address of its host
	FailDNS      = "dns_failed"      // the name has no address, or none in time
	FailConnect  = "connect_failed"  // no connection, or none in time
	FailTLS      = "tls_failed"      // the handshake failed, or took too long
	FailTimeout  = "timeout"         // no status within the time of the attempt
	FailCanceled = "canceled"        // the caller ended the call
	FailProtocol = "protocol_error"  // the answer is not HTTP, its headers are too large, or the request is not valid
)

// Result is the result of an attempt. A received status counts, even when the body fails later:
// then Err is empty. Without a status, Status is 0.
type Result struct {
	Status     int           // as received; a redirect is its 3xx
	Answer     string        // the beginning of the body: at most 1,024 bytes of valid UTF-8 on one line
	RetryAfter time.Duration // from Retry-After, whole seconds, 0 without one, at most MaxRetryAfter
	Took       time.Duration // the time of the whole attempt, from the lookup of the name on
	Err        string        // one of the Fail constants, or empty
}

// Resolver finds the addresses of a name. *net.Resolver implements it. network is "ip", and the
// name is absolute: it ends with a dot.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, name string) ([]netip.Addr, error)
}

// Sender sends to addresses that its guard permits. It is safe for concurrent use: attempts
// share only settings.
type Sender struct {
	guard    *Guard
	resolver Resolver
	roots    *x509.CertPool

	total     time.Duration // of the attempt
	connect   time.Duration // to resolve the name and to connect
	handshake time.Duration // of TLS
	answer    time.Duration // to read the body, once there is a status

	// beforeConnect is called for each socket that the guard permits. Its context ends when the time for this address is over, and
	// its error ends the connection. Tests set it so that they connect only to their own machine.
	beforeConnect func(ctx context.Context, to string) error
}

// Option changes a Sender.
type Option func(*Sender)

// WithResolver sets the resolver of names; the default is net.DefaultResolver.
func WithResolver(r Resolver) Option { return func(s *Sender) { s.resolver = r } }

// WithRoots sets the certificate authorities; the default is the system's.
func WithRoots(pool *x509.CertPool) Option { return func(s *Sender) { s.roots = pool } }

// WithTimeouts sets the time of a whole attempt, by default 10 s, and the time to resolve the name
// and to connect, by default 3 s.
func WithTimeouts(total, connect time.Duration) Option {
	return func(s *Sender) { s.total, s.connect = total, connect }
}

// NewSender returns a sender for which g decides at every socket.
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

// Post makes one attempt: one connection, one request, no redirects, no second try. It returns within the sender's time,
// and earlier when ctx ends. It sends header unchanged, and adds only the headers that HTTP needs.
func (s *Sender) Post(ctx context.Context, rawURL string, header http.Header, body []byte) Result {
	began := time.Now()
	r := s.post(ctx, rawURL, header, body)
	r.Took = time.Since(began)
	return r
}

func (s *Sender) post(ctx context.Context, rawURL string, header http.Header, body []byte) (r Result) {
	r.Err = s.send(ctx, http.MethodPost, rawURL, header, body, func(res *http.Response) {
		r.Status, r.Answer, r.RetryAfter = res.StatusCode, beginning(res.Body), longest(res.Header.Values("Retry-After"), time.Now())
	})
	return r
}

// errAnswer means that an answer of Get is not a 200, is too large, or was cut.
var errAnswer = errors.New("outbound: the answer is not whole")

// Get reads the text at a URL in one attempt. A text of more than maxBytes bytes is an error. Users may see the text of an error.
func (s *Sender) Get(ctx context.Context, rawURL string, maxBytes int64) (text []byte, err error) {
	failed := s.send(ctx, http.MethodGet, rawURL, http.Header{"User-Agent": {"Latchkey/1"}}, nil, func(res *http.Response) {
		text, err = io.ReadAll(io.LimitReader(res.Body, maxBytes+1))
		if err != nil || int64(len(text)) > maxBytes || res.StatusCode != http.StatusOK {
			text, err = nil, errAnswer
		}
	})
	if failed != "" {
		err = &classError{failed, errAnswer}
	}
	return text, err
}

// send makes one attempt. It calls read with the answer. It returns the class of a failure, "" for none.
func (s *Sender) send(ctx context.Context, method, rawURL string, header http.Header, body []byte, read func(*http.Response)) (failed string) {
	u, err := s.guard.parse(rawURL)
	if err != nil {
		return FailRefused
	}
	ctx, cancel := context.WithTimeout(ctx, s.total)
	defer cancel()

	a := &attempt{sender: s, url: u}
	req, err := http.NewRequestWithContext(a.trace(ctx), method, u.String(), bytes.NewReader(body))
	if err != nil {
		return FailProtocol
	}
	if header != nil {
		req.Header = header.Clone()
	}
	// Only the transport, no http.Client: a transport cannot follow redirects or
	// keep cookies.
	res, err := s.transport(a).RoundTrip(req)
	if err != nil {
		return a.class(ctx, err)
	}
	defer func() { _ = res.Body.Close() }() // this cuts the connection, even with data left on it
	a.hurry(s.answer)
	read(res)
	return ""
}

// transport makes the transport of one attempt, which costs some kilobytes. Two attempts share no
// pool, no lock and no TLS session, so one stranger's connection cannot affect another's.
// Keep-alive would save a handshake to a receiver of many events, but each receiver could then
// keep a socket of ours open.
func (s *Sender) transport(a *attempt) *http.Transport {
	// HTTP/2 brings no advantage for one request on one connection, and its client tries again by itself and
	// buffers megabytes.
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  nil, // not the environment's proxy: it would be dialled in place of the receiver
		DialContext:            a.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.roots},
		TLSHandshakeTimeout:    s.handshake,
		DisableKeepAlives:      true,
		DisableCompression:     true, // the first 1 KB of a gzip answer is kept as it is, never expanded
		MaxResponseHeaderBytes: maxHeaders,
		ReadBufferSize:         bufferSize,
		WriteBufferSize:        bufferSize,
		Protocols:              &protocols,
	}
}

// beginning reads the beginning of an answer. The status has already decided the result of the attempt, and the
// text is only for people. So hurry gives the read little time: a receiver that sends one byte a second after its
// status delays no other delivery.
func beginning(body io.Reader) string {
	// The bytes before an error are still the beginning of the answer.
	b, _ := io.ReadAll(io.LimitReader(body, maxAnswer))
	return printable(b)
}

// hostOf returns the name or the address in a URL, and whether it is an address.
func hostOf(u *url.URL) (host string, isLiteral bool) {
	_, isLiteral = literal(u)
	return u.Hostname(), isLiteral
}
