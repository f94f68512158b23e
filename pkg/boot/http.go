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

// amazonRoots has the certificate authorities behind *.amazonaws.com: Amazon Root CA 1 to 4
// and Starfield Services Root G2. At the first handshake, a pool of five costs a fifth of the
// system's pool of more than a hundred.
//
//go:embed amazon-roots.pem
var amazonRoots string

const (
	connectTimeout  = time.Second
	idleTimeout     = 90 * time.Second
	idlePerHost     = 16
	idleConnections = 32
)

// NewHTTPClient returns the client of the AWS SDK. Each try has its own short time-out. The
// client trusts *.amazonaws.com by the embedded roots or, where these do not suffice, by the
// system's. It follows no redirects.
func NewHTTPClient() *http.Client { return newHTTPClient(tryTimeout) }

func newHTTPClient(try time.Duration) *http.Client {
	// A dial goes on when its try has timed out, and the next try uses the connection.
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
// authorities. jwks.Do, which makes all of its requests, follows no redirects.
func NewIssuerClient() *http.Client {
	return &http.Client{
		Timeout: issuerTimeout,
		Transport: &http.Transport{
			DialContext:  (&net.Dialer{Timeout: connectTimeout}).DialContext,
			MaxIdleConns: idleConnections, IdleConnTimeout: idleTimeout, TLSHandshakeTimeout: issuerTimeout,
		},
	}
}

// roots dials with the small pool. Once a host has shown an authority that is not in it, roots
// dials with the system's pool, for the rest of the process.
type roots struct {
	handshake func(ctx context.Context, network, addr string, pool *x509.CertPool) (net.Conn, error)

	pool   sync.Once
	small  *x509.CertPool
	system atomic.Bool
}

func (r *roots) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(host, ".amazonaws.com") || r.system.Load() {
		return r.handshake(ctx, network, addr, nil)
	}
	r.pool.Do(func() {
		r.small = x509.NewCertPool()
		r.small.AppendCertsFromPEM([]byte(amazonRoots))
	})
	conn, err := r.handshake(ctx, network, addr, r.small)
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		if !r.system.Swap(true) {
			slog.WarnContext(ctx, "AWS uses an authority beyond the embedded ones; using the system's", "host", host)
		}
		return r.handshake(ctx, network, addr, nil)
	}
	return conn, err
}

// handshake connects by TLS. pool nil means the system's authorities.
func handshake(ctx context.Context, d *net.Dialer, network, addr string, pool *x509.CertPool) (net.Conn, error) {
	t := &tls.Dialer{NetDialer: d, Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	return t.DialContext(ctx, network, addr)
}
