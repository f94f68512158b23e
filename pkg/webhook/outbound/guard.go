// Package outbound sends a request to an address that a stranger chose, and
// keeps it from being turned against the network it is sent from (SSRF).
//
// The Guard decides at the socket: from the address, the port, the scheme and
// the form of the host of the very attempt, after the name was resolved and
// before a packet leaves. So a name that changes its answer between two looks
// gains nothing. CheckURL is advice at registration, by the same rule, and
// never enough by itself.
//
// The package is not for requests to our own services or to AWS: it has no
// proxy, no redirects, no retries and no connections that are kept.
package outbound

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// The reasons of a refusal. They are public: none tells what a name resolves
// to, or what else there is behind it.
const (
	ReasonTooLong   = "url_too_long"       // over MaxURL characters
	ReasonMalformed = "url_malformed"      // not an absolute URL of printable ASCII
	ReasonScheme    = "scheme_not_https"   //
	ReasonPort      = "port_not_443"       //
	ReasonUserInfo  = "user_info"          // user:password@ in it
	ReasonFragment  = "fragment"           // a # in it
	ReasonHost      = "host_not_public"    // no public DNS name, nor an address in its plain form
	ReasonAddress   = "address_not_public" // the address itself is not one of the public internet
)

// Refused is the error of everything that the guard turns away.
type Refused struct { //nolint:errname // it reads as outbound.Refused where it is matched
	Reason string // one of the Reason constants
}

func (r *Refused) Error() string { return "outbound: refused: " + r.Reason }

func refuse(reason string) error { return &Refused{Reason: reason} }

// Guard decides which addresses may be dialled. It holds nothing that changes,
// so many goroutines may use one.
type Guard struct {
	allow []netip.Prefix
}

// NewGuard gives a guard that permits https on port 443 of public addresses.
// An address inside a prefix of allow may be dialled by http too, and on any
// port, when the URL has it as a literal; a name never leads there. allow is
// empty by default, and holds loopback on the local stack.
func NewGuard(allow []netip.Prefix) *Guard {
	g := &Guard{}
	for _, p := range allow {
		g.allow = append(g.allow, p.Masked())
	}
	return g
}

// ParseCIDRs reads prefixes such as 127.0.0.0/8 and ::1/128; empty entries are
// passed over. An IPv4 address in IPv6 form and a prefix of length 0, which
// would switch the guard off, are errors.
func ParseCIDRs(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("outbound: %q is not a CIDR: %w", s, err)
		}
		if p.Bits() == 0 || p.Addr().Is4In6() {
			return nil, fmt.Errorf("outbound: %q may not be allowed: too wide, or an IPv4 address in IPv6 form", s)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// Control gives the hook for net.Dialer.ControlContext of one attempt. scheme
// is the URL's; literal says that the URL's host is an address, not a name. The
// hook's error is a *Refused, inside the *net.OpError of the dialer.
func (g *Guard) Control(scheme string, literal bool) func(ctx context.Context, network, address string, c syscall.RawConn) error {
	return func(_ context.Context, network, address string, _ syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" {
			return refuse(ReasonAddress)
		}
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return refuse(ReasonAddress)
		}
		return g.decide(scheme, literal, to)
	}
}

// control is the hook of net.Dialer.ControlContext.
type control = func(ctx context.Context, network, address string, c syscall.RawConn) error

// then runs a second look at each socket that the first one permits.
func then(first control, second func(to string) error) control {
	return func(ctx context.Context, network, address string, c syscall.RawConn) error {
		if err := first(ctx, network, address, c); err != nil {
			return err
		}
		return second(address)
	}
}

// decide is the rule: of the attempt by its Control, and of a URL with a
// literal address by CheckURL.
func (g *Guard) decide(scheme string, literal bool, to netip.AddrPort) error {
	if g.allowed(to.Addr()) {
		// A stranger's name that points at an address of the operator's own is
		// the attack; whoever may use such an address can write it down.
		if !literal {
			return refuse(ReasonAddress)
		}
		if (scheme != "http" && scheme != "https") || to.Port() == 0 {
			return refuse(ReasonPort)
		}
		return nil
	}
	switch {
	case !public(to.Addr()):
		return refuse(ReasonAddress)
	case scheme != "https":
		return refuse(ReasonScheme)
	case to.Port() != 443:
		return refuse(ReasonPort)
	}
	return nil
}

// allowed says whether an address is inside the allow list. Contains is false
// for an address with a zone, and for IPv4 in IPv6 form.
func (g *Guard) allowed(a netip.Addr) bool {
	for _, p := range g.allow {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
