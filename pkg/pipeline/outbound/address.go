package outbound

import "net/netip"

// The ranges that are refused, from the special-purpose registries of IANA (RFC 6890 and its
// updates). All other IPv4 addresses are public. Of IPv6, only 2000::/3 is assigned at all, so
// every address outside of it (::1, v4-mapped, NAT64, ULA, link-local, site-local, multicast,
// discard, SRv6 ...) is refused without a range of its own.
var (
	refused4 = prefixes(
		"0.0.0.0/8",        // this network; 0.0.0.0 reaches the machine itself
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // carrier-grade NAT; a cloud's metadata at 100.100.100.200
		"127.0.0.0/8",      // loopback
		"168.63.129.16/32", // Azure's platform service, although its number is a public one
		"169.254.0.0/16",   // link-local; metadata at 169.254.169.254, task credentials at .170.2
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // protocol assignments
		"192.0.2.0/24",     // documentation
		"192.88.99.0/24",   // 6to4 relays
		"192.168.0.0/16",   // private
		"198.18.0.0/15",    // benchmarks
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved, and broadcast
	)
	global6  = netip.MustParsePrefix("2000::/3")
	refused6 = prefixes(
		"2001::/23",     // protocol assignments: Teredo, benchmarks, ORCHID, drone ids
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4: an IPv4 address is inside
		"3fff::/20",     // documentation
	)
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(list))
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// public reports whether an address is a unicast address of the public internet. An IPv4 address in IPv6 form is
// not public. No good receiver is refused by that: the dialer makes a plain IPv4 address of it before it calls the guard.
func public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	refused := refused4
	if !a.Is4() {
		if !global6.Contains(a) {
			return false
		}
		refused = refused6
	}
	for _, p := range refused {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
