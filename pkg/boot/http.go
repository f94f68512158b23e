package boot

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// amazonRoots has the certificate authorities of *.amazonaws.com: Amazon Root CA 1 to 4 and Starfield Services Root G2. The first
// handshake with these five takes a fifth of the time that it takes with the system's pool, which has more than a hundred.
//
//go:embed amazon-roots.pem
var amazonRoots string

const (
	connectTimeout  = time.Second
	idleTimeout     = 90 * time.Second
	idlePerHost     = 16
	idleConnections = 32
)

// NewHTTPClient returns the HTTP client for calls to AWS. tryTimeout bounds each try. For *.amazonaws.com the client trusts the
// embedded roots. If a host there has another authority, the client trusts the system's roots. It follows no redirects.
func NewHTTPClient() *http.Client { return newHTTPClient(tryTimeout) }

func newHTTPClient(try time.Duration) *http.Client {
	// After a try has timed out, net/http still finishes the dial, and the next try uses the connection. So a dial may take longer
	// than a try.
	dialer := &net.Dialer{Timeout: max(connectTimeout, try)}
	roots := &roots{handshake: func(ctx context.Context, network, addr string, pool *x509.CertPool) (net.Conn, error) {
		return handshake(ctx, dialer, network, addr, pool)
	}}
	return &http.Client{
		Timeout: try,
		Transport: &http.Transport{
			DialContext:    dialer.DialContext,
			DialTLSContext: roots.dial,
			MaxIdleConns:   idleConnections, MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleTimeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// issuerTimeout bounds one request to the token issuer.
const issuerTimeout = 3 * time.Second

// NewIssuerClient returns the client for the token issuer. It trusts the system's
// authorities. It needs no CheckRedirect: fetch.Do makes all its requests, and follows no redirects.
func NewIssuerClient() *http.Client {
	return &http.Client{
		Timeout: issuerTimeout,
		Transport: &http.Transport{
			DialContext:  (&net.Dialer{Timeout: connectTimeout}).DialContext,
			MaxIdleConns: idleConnections, IdleConnTimeout: idleTimeout, TLSHandshakeTimeout: issuerTimeout,
		},
	}
}

// roots dials *.amazonaws.com with the small pool, which has only the embedded roots. After a host has shown an authority that
// is not in the small pool, roots uses the system's pool for the rest of the process.
type roots struct {
	// handshake connects to addr. pool nil means the system's authorities.
	handshake func(ctx context.Context, network, addr string, pool *x509.CertPool) (net.Conn, error)

	parse     sync.Once // fills small at the first dial, so that a start of the process stays fast
	small     *x509.CertPool
	useSystem atomic.Bool
}

func (r *roots) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(host, ".amazonaws.com") || r.useSystem.Load() {
		return r.handshake(ctx, network, addr, nil)
	}
	r.parse.Do(func() {
		r.small = x509.NewCertPool()
		r.small.AppendCertsFromPEM([]byte(amazonRoots))
	})
	conn, err := r.handshake(ctx, network, addr, r.small)
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		firstTime := !r.useSystem.Swap(true)
		if firstTime {
			slog.WarnContext(ctx, "AWS uses an authority beyond the embedded ones; using the system's", "host", host)
		}
		return r.handshake(ctx, network, addr, nil)
	}
	return conn, err
}

// handshake connects and does the TLS handshake. pool nil means the system's authorities.
func handshake(ctx context.Context, d *net.Dialer, network, addr string, pool *x509.CertPool) (net.Conn, error) {
	t := &tls.Dialer{NetDialer: d, Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	return t.DialContext(ctx, network, addr)
}
