package outbound

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxURL is the longest URL, in characters; all of them are ASCII.
const MaxURL = 2048

// Refusal returns why a URL may not be registered, one of the Reason constants, or "" when it may. It applies the
// rule of parse early, so that the owner of the URL sees a mistake at registration. A Sender checks again.
func (g *Guard) Refusal(rawURL string) (reason string) {
	_, err := g.parse(rawURL)
	var refused *Refused
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ""
}

// parse checks a URL by the rule for URLs. It accepts an absolute https URL with a public host on port 443,
// without user info or fragment. It also accepts a URL whose host is an address inside the allow
// list, by http or https on any port. It resolves no name, so that a registration shows nothing
// about names in our network. Every error is a *Refused.
//
// A name has at least two labels of letters, digits and hyphens (an international name in its
// xn-- form). It is not below localhost, local, internal or arpa, and has no dot at the end. An
// address is dotted decimal, or IPv6 in brackets without a zone. The other spellings of IPv4
// (2130706433, 0x7f.1, 127.1) are refused.
func (g *Guard) parse(raw string) (*url.URL, error) {
	if len(raw) > MaxURL {
		return nil, refuse(ReasonTooLong)
	}
	if !plain(raw) {
		return nil, refuse(ReasonMalformed)
	}
	if strings.Contains(raw, "#") {
		return nil, refuse(ReasonFragment)
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" || u.Opaque != "" || u.Host == "" {
		return nil, refuse(ReasonMalformed)
	}
	if u.User != nil {
		return nil, refuse(ReasonUserInfo)
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, refuse(ReasonScheme)
	}
	port, err := portOf(u)
	if err != nil {
		return nil, err
	}
	if addr, ok := literal(u); ok {
		if err := g.decide(u.Scheme, true, netip.AddrPortFrom(addr, port)); err != nil {
			return nil, err
		}
		return u, nil
	}
	name := u.Host[:len(u.Host)-portLength(u)] // not u.Hostname(), which drops the brackets of [example.com]
	switch {
	case !publicName(name):
		return nil, refuse(ReasonHost)
	case u.Scheme != "https":
		return nil, refuse(ReasonScheme)
	case port != 443:
		return nil, refuse(ReasonPort)
	}
	return u, nil
}

// plain reports whether a URL has no characters that parsers read in different ways: spaces,
// control characters, backslashes and everything outside ASCII.
func plain(raw string) bool {
	for i := range len(raw) {
		if c := raw[i]; c <= ' ' || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

// portOf returns the port of an http or https URL. It refuses a port without digits, with a
// leading zero or out of range.
func portOf(u *url.URL) (uint16, error) {
	s := u.Port()
	if s == "" {
		if strings.HasSuffix(u.Host, ":") {
			return 0, refuse(ReasonMalformed)
		}
		if u.Scheme == "http" {
			return 80, nil
		}
		return 443, nil
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' {
		return 0, refuse(ReasonPort)
	}
	return uint16(n), nil
}

// portLength returns the length of ":port" at the end of a URL's host.
func portLength(u *url.URL) int {
	if u.Port() == "" {
		return 0
	}
	return len(u.Port()) + 1
}

// literal returns the address when the host of a URL is an address: IPv6 in brackets, IPv4 without. It returns false for a
// name, and for an address with a zone.
func literal(u *url.URL) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil || addr.Zone() != "" || addr.Is6() != strings.HasPrefix(u.Host, "[") {
		return netip.Addr{}, false
	}
	return addr, true
}

// notPublic has the top-level names that mean the machine itself, its network or its cloud (RFC
// 6761, RFC 6762, and ICANN's .internal).
var notPublic = []string{"localhost", "local", "internal", "arpa"}

// publicName reports whether a host can be a name of the public DNS. A name has at most 253 characters, and a label
// at most 63 (RFC 1035 section 2.3.4).
func publicName(host string) bool {
	labels := strings.Split(strings.ToLower(host), ".")
	if len(host) > 253 || len(labels) < 2 {
		return false
	}
	for _, l := range labels {
		if !isLabel(l) {
			return false
		}
	}
	// A top-level name begins with a letter. A host that ends in a number is an IPv4
	// address to some parsers (127.1, 0x7f.1, 1.2.3.0x4).
	top := labels[len(labels)-1]
	return top[0] >= 'a' && top[0] <= 'z' && !slices.Contains(notPublic, top)
}

// isLabel reports whether l has only lower-case letters, digits and hyphens, and no hyphen at an end.
func isLabel(l string) bool {
	if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	for i := range len(l) {
		c := l[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
