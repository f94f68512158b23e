package outbound

import (
	"context"
	"errors"
	"net/netip"
	"testing"
)

// onLoopback returns a guard that also allows loopback, as on the local stack.
func onLoopback(t *testing.T) *Guard {
	t.Helper()
	allow, err := ParseCIDRs([]string{"127.0.0.0/8", "::1/128"})
	if err != nil {
		t.Fatal(err)
	}
	return NewGuard(allow)
}

// reasonOf returns the reason of a refusal, "" for no error.
func reasonOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var r *Refused
	if !errors.As(err, &r) {
		t.Fatalf("%v is no *Refused", err)
	}
	return r.Reason
}

var hostileAddresses = []string{
	// IPv4: the first and the last of each range.
	"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255",
	"100.64.0.0", "100.100.100.200", "100.127.255.255",
	"127.0.0.0", "127.0.0.1", "127.255.255.255",
	"168.63.129.16",
	"169.254.0.0", "169.254.169.254", "169.254.170.2", "169.254.255.255",
	"172.16.0.0", "172.31.255.255",
	"192.0.0.0", "192.0.0.192", "192.0.0.255", "192.0.2.0", "192.0.2.255",
	"192.88.99.0", "192.88.99.255", "192.168.0.0", "192.168.255.255",
	"198.18.0.0", "198.19.255.255", "198.51.100.0", "198.51.100.255",
	"203.0.113.0", "203.0.113.255",
	"224.0.0.0", "224.0.0.251", "239.255.255.255",
	"240.0.0.0", "255.255.255.254", "255.255.255.255",
	// IPv6.
	"::", "::1", "::2",
	"::127.0.0.1", "::8.8.8.8", // v4-compatible
	"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.8.8", // v4-mapped
	"::ffff:0:127.0.0.1", // v4-translated (SIIT)
	"64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::a9fe:a9fe", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
	"100::", "100::1", "100:0:0:1::1",
	"1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	"2001::", "2001::1", "2001:0:7f00:1::", "2001:2::1", "2001:10::", "2001:1f:ffff::1", "2001:20::", "2001:2f:ffff::1", "2001:1ff:ffff::1",
	"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
	"2002::", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
	"4000::1", "5f00::", "5f00:ffff::1",
	"fc00::", "fc00::1", "fd00:ec2::254", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	"fe00::1", "fe80::", "fe80::1", "fe80::a9fe:a9fe", "febf:ffff::1", "fec0::", "fec0::1", "feff:ffff::1",
	"ff00::", "ff02::1", "ff0e::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	// With a zone: also an address that is public without the zone.
	"fe80::1%eth0", "2606:4700::1111%eth0",
}

// publicAddresses has the neighbours of the refused ranges where possible: the test fails if a range is too wide.
var publicAddresses = []string{
	"1.0.0.0", "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
	"126.255.255.255", "128.0.0.0", "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0",
	"172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0",
	"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0",
	"203.0.112.255", "203.0.114.0", "223.255.255.255",
	"2000::1", "2001:200::1", "2001:4860:4860::8888", "2001:db7:ffff::1", "2001:db9::1", "2003::1",
	"2606:4700:4700::1111", "2a00:1450:4001::1", "3ffe::1", "3fff:1000::",
}

func TestNonPublicAddressesAreRefusedAtTheSocket(t *testing.T) {
	g := NewGuard(nil)
	for _, s := range hostileAddresses {
		addr := netip.MustParseAddr(s)
		if public(addr) {
			t.Errorf("%s counts as public", s)
		}
		to := netip.AddrPortFrom(addr, 443).String()
		for _, network := range []string{"tcp4", "tcp6"} {
			for _, literal := range []bool{true, false} {
				err := g.Control("https", literal)(context.Background(), network, to, nil)
				if got := reasonOf(t, err); got != ReasonAddress {
					t.Errorf("%s %s, literal %v: %q", network, to, literal, got)
				}
			}
		}
	}
}

func TestPublicAddressesArePermittedByHTTPSOn443Only(t *testing.T) {
	g := NewGuard(nil)
	for _, s := range publicAddresses {
		addr := netip.MustParseAddr(s)
		for _, c := range []struct {
			scheme string
			port   uint16
			want   string // reason of the refusal; "": permitted
		}{
			{"https", 443, ""}, {"https", 8443, ReasonPort}, {"https", 22, ReasonPort}, {"https", 0, ReasonPort},
			{"http", 443, ReasonScheme}, {"http", 80, ReasonScheme}, {"", 443, ReasonScheme},
		} {
			for _, literal := range []bool{true, false} {
				to := netip.AddrPortFrom(addr, c.port).String()
				// The network of a socket is tcp4 or tcp6, never tcp.
				err := g.Control(c.scheme, literal)(context.Background(), "tcp", to, nil)
				if got := reasonOf(t, err); got != ReasonAddress {
					t.Errorf("the network tcp is permitted: %q", got)
				}
				err = g.Control(c.scheme, literal)(context.Background(), "tcp4", to, nil)
				if got := reasonOf(t, err); got != c.want {
					t.Errorf("%s to %s, literal %v: %q, want %q", c.scheme, to, literal, got, c.want)
				}
			}
		}
	}
}

func TestInvalidAddressesAreRefusedAtTheSocket(t *testing.T) {
	hook := onLoopback(t).Control("https", true)
	for _, to := range []string{"", "example.com:443", "127.0.0.1", "[::1", "127.0.0.1:99999", "/run/a.sock", "@abstract"} {
		if err := hook(context.Background(), "tcp4", to, nil); err == nil {
			t.Errorf("%q is permitted", to)
		}
	}
	for _, network := range []string{"udp4", "unix", "ip4", ""} {
		if err := hook(context.Background(), network, "127.0.0.1:443", nil); err == nil {
			t.Errorf("network %q is permitted", network)
		}
	}
}

// TestAnAllowedAddressIsReachedOnlyAsALiteral: only a URL with the address itself reaches it, a URL with a name does not.
func TestAnAllowedAddressIsReachedOnlyAsALiteral(t *testing.T) {
	g := onLoopback(t)
	for _, c := range []struct {
		scheme  string
		literal bool // whether the URL has the address itself
		to      string
		want    string // reason of the refusal; "": permitted
	}{
		{"http", true, "127.0.0.1:9000", ""},
		{"https", true, "127.9.9.9:1", ""},
		{"http", true, "[::1]:9000", ""},
		// The URL has a name that resolves to the address.
		{"https", false, "127.0.0.1:443", ReasonAddress},
		{"http", false, "127.0.0.1:80", ReasonAddress},
		{"https", false, "[::1]:443", ReasonAddress},
		// Other spellings of loopback.
		{"http", true, "[::ffff:127.0.0.1]:80", ReasonAddress},
		{"http", true, "[::1%lo]:80", ReasonAddress},
		// Addresses outside the allow list, and the unchanged rule for public addresses.
		{"http", true, "[::2]:80", ReasonAddress},
		{"http", true, "10.0.0.1:80", ReasonAddress},
		{"http", true, "8.8.8.8:80", ReasonScheme},
		{"https", true, "8.8.8.8:8443", ReasonPort},
		// Another scheme, and port 0. parse refuses such URLs, so decide has only one reason for both.
		{"ftp", true, "127.0.0.1:21", ReasonPort},
		{"http", true, "127.0.0.1:0", ReasonPort},
	} {
		err := g.Control(c.scheme, c.literal)(context.Background(), "tcp4", c.to, nil)
		if got := reasonOf(t, err); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestAllowListIsReadStrictly(t *testing.T) {
	got, err := ParseCIDRs([]string{"", " 127.0.0.1/8 ", "::1/128"})
	if err != nil || len(got) != 2 || got[0].String() != "127.0.0.0/8" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{
		"127.0.0.1", "localhost", "127.0.0.0/33", "10.0.0.0/8,127.0.0.0/8", // no prefix
		"0.0.0.0/0", "::/0", "0.0.0.0/1", "128.0.0.0/1", "10.0.0.0/7", "fc00::/7", // wider than a /8
		"169.254.0.0/16", "169.254.169.254/32", "169.0.0.0/8", "fe80::/10", "fe80::1/128", "fe00::/8", // link-local
		"::ffff:127.0.0.1/104", // IPv4 in IPv6 form
	} {
		if got, err := ParseCIDRs([]string{bad}); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
	if got, err := ParseCIDRs([]string{"10.0.0.0/8", "172.16.0.0/12", "fd00::/8", "2001:db8::/32"}); err != nil || len(got) != 4 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := ParseCIDRs(nil); err != nil || len(got) != 0 {
		t.Errorf("no list: %v, %v", got, err)
	}
}
