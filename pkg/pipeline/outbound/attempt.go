package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	maxAddresses = 4           // how many addresses of a name are tried
	grace        = time.Second // the socket is closed this long after the end of its attempt, at the latest
)

// attempt is the state of one Post. Its fields are atomic, because the transport dials and
// shakes hands on goroutines of its own.
type attempt struct {
	sender *Sender
	url    *url.URL
	dialed atomic.Bool
	inTLS  atomic.Bool              // the handshake began and has not succeeded
	conn   atomic.Pointer[net.Conn] // the TCP connection, below TLS
}

// classError is an error with a known class: one of the Fail constants.
type classError struct {
	class string
	cause error
}

func (e *classError) Error() string { return e.class + ": " + e.cause.Error() }
func (e *classError) Unwrap() error { return e.cause }

var (
	errAgain     = errors.New("an attempt dials once")
	errNoAddress = errors.New("the name has no address")
)

// dial resolves the host, tries its addresses in order, and returns the first connection that succeeds. The guard decides
// at each socket. The first refusal ends the attempt: a name with one hostile address is not trusted. A second call is an
// error, because the transport must not try again by itself.
func (a *attempt) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if a.dialed.Swap(true) {
		return nil, &classError{FailProtocol, errAgain}
	}
	// The context ends an attempt first, and its error has the reason. The deadline of the socket is for code that ignores
	// the context.
	end := time.Now().Add(a.sender.total + grace)
	ctx, cancel := context.WithTimeout(ctx, a.sender.connect)
	defer cancel()

	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &classError{FailProtocol, err}
	}
	host, isLiteral := hostOf(a.url)
	addrs, err := a.resolve(ctx, host, isLiteral)
	if err != nil {
		return nil, &classError{FailDNS, err}
	}
	for i, addr := range addrs {
		d := a.dialer(isLiteral)
		d.Deadline = share(ctx, len(addrs)-i)
		var conn net.Conn
		if conn, err = d.DialContext(ctx, network, net.JoinHostPort(addr.String(), port)); err == nil {
			a.conn.Store(&conn)
			return conn, conn.SetDeadline(end)
		}
		var refused *Refused
		if errors.As(err, &refused) {
			return nil, &classError{FailRefused, err}
		}
	}
	return nil, &classError{FailConnect, err}
}

// dialer returns the dialer for one address. It calls the guard for each socket.
func (a *attempt) dialer(isLiteral bool) *net.Dialer {
	hook := a.sender.guard.Control(a.url.Scheme, isLiteral)
	if before := a.sender.beforeConnect; before != nil {
		hook = then(hook, before)
	}
	return &net.Dialer{ControlContext: hook, KeepAlive: -1}
}

// resolve returns the addresses of a host, at most maxAddresses. It keeps the order of the
// resolver, which knows what this machine can reach.
func (a *attempt) resolve(ctx context.Context, host string, isLiteral bool) ([]netip.Addr, error) {
	if isLiteral {
		addr, err := netip.ParseAddr(host)
		return []netip.Addr{addr}, err
	}
	// The dot at the end prevents a search in the domains of our own network.
	found, err := a.sender.resolver.LookupNetIP(ctx, "ip", host+".")
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errNoAddress
	}
	// net.Resolver returns some IPv4 addresses in IPv6 form. The dialer still makes
	// an IPv4 socket of them, and the guard decides on the socket.
	return found[:min(len(found), maxAddresses)], nil
}

// share returns the deadline for the next address, when the remaining time is divided by the
// remaining addresses.
func share(ctx context.Context, left int) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	now := time.Now()
	return now.Add(deadline.Sub(now) / time.Duration(left))
}

// trace records where the TLS handshake begins and ends: a connection that is cut during the
// handshake returns the same io.EOF as one that is cut after it.
func (a *attempt) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() { a.inTLS.Store(true) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				a.inTLS.Store(false)
			}
		},
	})
}

// hurry limits the time for the rest of the receiver's answer. It sets a deadline of the socket, because after a
// status 101 the body ignores the context.
func (a *attempt) hurry(d time.Duration) {
	if conn := a.conn.Load(); conn != nil {
		_ = (*conn).SetReadDeadline(time.Now().Add(d)) // an error means a closed socket, and the next read reports it
	}
}

// class returns the class of the failure of an attempt that got no status.
func (a *attempt) class(ctx context.Context, err error) string {
	var known *classError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return FailTimeout
	case ctx.Err() != nil:
		return FailCanceled
	case errors.As(err, &known):
		return known.class
	case a.inTLS.Load():
		return FailTLS
	}
	return FailProtocol
}
