// Package outbound sends a request to an address that a stranger chose. It prevents requests that attack
// the network of the sender (SSRF).
//
// The Guard decides at the socket of each attempt, after the name was resolved and before a
// packet is sent: by the address, the port, the scheme and the form of the host. So a name that
// changes its address between two lookups has no advantage. Refusal applies the same rule early, when
// a URL is registered. The check at registration alone is never enough.
//
// The package must not be used for requests to our own services or to AWS: it uses no proxy, follows no
// redirects, and has no retries and no kept connections.
package outbound

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// The reasons of a refusal. They are public: none shows the addresses of a name, or other
// systems in their network.
const (
	ReasonTooLong   = "url_too_long"       // over MaxURL characters
	ReasonMalformed = "url_malformed"      // not an absolute URL of printable ASCII
	ReasonScheme    = "scheme_not_https"   // neither https, nor http to an allowed address
	ReasonPort      = "port_not_443"       // another port than 443, except on an allowed address
	ReasonUserInfo  = "user_info"          // user:password@ in it
	ReasonFragment  = "fragment"           // a # in it
	ReasonHost      = "host_not_public"    // neither a public DNS name nor an address in its plain form
	ReasonAddress   = "address_not_public" // the address is not in the public internet
)

// Refused is the error for everything that the guard refuses.
type Refused struct { //nolint:errname // callers read outbound.Refused
	Reason string // one of the Reason constants
}

func (r *Refused) Error() string { return "outbound: refused: " + r.Reason }

func refuse(reason string) error { return &Refused{Reason: reason} }

// Guard decides which addresses may be dialled. It is safe for concurrent use.
type Guard struct {
	allow []netip.Prefix
}

// NewGuard returns a guard that permits https on port 443 of public addresses. It also permits http and
// https on any port of an address inside a prefix of allow, but only when the URL has the address itself,
// not a name. In production allow is usually empty. On the local stack it has loopback.
func NewGuard(allow []netip.Prefix) *Guard {
	g := &Guard{}
	for _, p := range allow {
		g.allow = append(g.allow, p.Masked())
	}
	return g
}

// linkLocal are the link-local networks. In these networks a cloud gives its machines their credentials.
var linkLocal = prefixes("169.254.0.0/16", "fe80::/10")

// widest is the smallest number of bits of a prefix that may be allowed. A wider prefix has addresses that the operator did not mean.
const widest = 8

// ParseCIDRs reads prefixes such as 127.0.0.0/8 and ::1/128. It skips empty entries. An IPv4
// address in IPv6 form is an error, and so is a prefix that is wider than a /8 or has link-local
// addresses.
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
		if p.Bits() < widest || p.Addr().Is4In6() || slices.ContainsFunc(linkLocal, p.Overlaps) {
			return nil, fmt.Errorf("outbound: %q may not be allowed: wider than a /8, link-local, or an IPv4 address in IPv6 form", s)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// Control returns the hook for net.Dialer.ControlContext of one attempt. scheme is the scheme of the URL.
// literal means that the URL's host is an address, not a name. The hook returns a *Refused, which the dialer
// puts into a *net.OpError.
func (g *Guard) Control(scheme string, literal bool) func(ctx context.Context, network, address string, c syscall.RawConn) error {
	return func(_ context.Context, network, address string, _ syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" { // the dialer passes no other for TCP
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

// then returns a hook that also calls second for each socket that first permits.
func then(first control, second func(ctx context.Context, to string) error) control {
	return func(ctx context.Context, network, address string, c syscall.RawConn) error {
		if err := first(ctx, network, address, c); err != nil {
			return err
		}
		return second(ctx, address)
	}
}

// decide applies the rule of NewGuard. Control uses it for an attempt, and Refusal for a URL with a literal
// address.
func (g *Guard) decide(scheme string, literal bool, to netip.AddrPort) error {
	if g.allowed(to.Addr()) {
		// The attack is a stranger's name that resolves to an address of the operator's own
		// network. An honest URL can have the address itself.
		if !literal {
			return refuse(ReasonAddress)
		}
		if (scheme != "http" && scheme != "https") || to.Port() == 0 {
			return refuse(ReasonPort) // only a caller that did not call parse can get here
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

// allowed reports whether an address is inside the allow list. Contains is false for an address
// with a zone, and for IPv4 in IPv6 form.
func (g *Guard) allowed(a netip.Addr) bool {
	for _, p := range g.allow {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
