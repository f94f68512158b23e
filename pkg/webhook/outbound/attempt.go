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
	maxAddresses = 4           // of a name, that are tried
	grace        = time.Second // from the end of the attempt to that of its socket
)

// attempt is the state of one Post. The transport dials and shakes hands on
// goroutines of its own, hence the atomics.
type attempt struct {
	sender *Sender
	url    *url.URL
	dialed atomic.Bool
	inTLS  atomic.Bool              // the handshake began and has not succeeded
	conn   atomic.Pointer[net.Conn] // below TLS
}

// classError is an error with its class.
type classError struct {
	class string
	cause error
}

func (f *classError) Error() string { return f.class + ": " + f.cause.Error() }
func (f *classError) Unwrap() error { return f.cause }

var (
	errAgain     = errors.New("an attempt dials once")
	errNoAddress = errors.New("the name has no address")
)

// dial resolves the host and connects to the first of its addresses that
// answers. The guard decides at each socket; at the first refusal the attempt
// is over, for a name with one hostile address is hostile.
func (a *attempt) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if a.dialed.Swap(true) {
		return nil, &classError{ErrProtocol, errAgain}
	}
	// The context ends an attempt with a better error; that the socket dies by
	// itself is for whatever may one day not listen to the context.
	end := time.Now().Add(a.sender.total + grace)
	ctx, cancel := context.WithTimeout(ctx, a.sender.connect)
	defer cancel()

	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &classError{ErrProtocol, err}
	}
	host, isLiteral := hostOf(a.url)
	addrs, err := a.resolve(ctx, host, isLiteral)
	if err != nil {
		return nil, &classError{ErrDNS, err}
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
			return nil, &classError{ErrRefused, err}
		}
	}
	return nil, &classError{ErrConnect, err}
}

// dialer gives the dialer of one address, with the guard in it.
func (a *attempt) dialer(isLiteral bool) *net.Dialer {
	hook := a.sender.guard.Control(a.url.Scheme, isLiteral)
	if permitted := a.sender.permitted; permitted != nil {
		hook = then(hook, permitted)
	}
	return &net.Dialer{ControlContext: hook, KeepAlive: -1}
}

// resolve gives the addresses of a host, at most maxAddresses, in the order of
// the resolver, which knows what this machine can reach.
func (a *attempt) resolve(ctx context.Context, host string, isLiteral bool) ([]netip.Addr, error) {
	if isLiteral {
		addr, err := netip.ParseAddr(host)
		return []netip.Addr{addr}, err
	}
	// With the dot at its end no search domain of our own network is tried.
	found, err := a.sender.resolver.LookupNetIP(ctx, "ip", host+".")
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errNoAddress
	}
	// net.Resolver gives some IPv4 addresses in IPv6 form. The dialer makes an
	// IPv4 socket of them all the same, and the guard judges the socket.
	return found[:min(len(found), maxAddresses)], nil
}

// share divides the time that is left to connect by the addresses that are.
func share(ctx context.Context, left int) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	now := time.Now()
	return now.Add(deadline.Sub(now) / time.Duration(left))
}

// trace notes where the TLS handshake begins and ends: a connection that is cut
// in it gives the same io.EOF as one that is cut after.
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

// hurry gives the receiver so much time, from now on, to send the rest. It is
// the socket's: after a 101 the body heeds no context.
func (a *attempt) hurry(d time.Duration) {
	if conn := a.conn.Load(); conn != nil {
		_ = (*conn).SetReadDeadline(time.Now().Add(d)) // only a closed one refuses, and it is read no more
	}
}

// class names what went wrong with an attempt that got no status.
func (a *attempt) class(ctx context.Context, err error) string {
	var f *classError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ErrTimeout
	case ctx.Err() != nil:
		return ErrCanceled
	case errors.As(err, &f):
		return f.class
	case a.inTLS.Load():
		return ErrTLS
	}
	return ErrProtocol
}
