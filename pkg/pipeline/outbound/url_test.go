package outbound

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

// hostileURLs are refused with any allow list. want is the reason; "": the reason depends on how net/url reads
// the host.
var hostileURLs = []struct{ url, want string }{
	// Not an absolute URL.
	{"", ReasonMalformed}, {"/hook", ReasonMalformed}, {"example.com/hook", ReasonMalformed},
	{"//example.com/hook", ReasonMalformed}, {"https:", ReasonMalformed}, {"https://", ReasonMalformed},
	{"https:///hook", ReasonMalformed}, {"https:example.com", ReasonMalformed}, {"https:/example.com", ReasonMalformed},
	{"https://:443/", ReasonHost}, {"http%3A//example.com", ReasonMalformed},
	// Characters that parsers read in different ways.
	{" https://example.com/", ReasonMalformed}, {"https://example.com/ ", ReasonMalformed},
	{"https://exa\tmple.com/", ReasonMalformed}, {"https://example.com/\r\nHost: a", ReasonMalformed},
	{"https://example.com\x00.evil.com/", ReasonMalformed}, {"https://example.com\\@127.0.0.1/", ReasonMalformed},
	{"https://example.com/\\..\\", ReasonMalformed}, {"https://１２７.0.0.1/", ReasonMalformed},
	{"https://ⓔxample.com/", ReasonMalformed}, {"https://bücher.example/", ReasonMalformed},
	{"https://example。com/", ReasonMalformed}, {"https://%31%32%37.0.0.1/", ReasonMalformed},
	{"https://example.com%2f@127.0.0.1/", ReasonUserInfo}, {"https://example.com/%zz", ReasonMalformed},
	// Other schemes.
	{"http://example.com/", ReasonScheme}, {"http://example.com:443/", ReasonScheme}, {"ftp://example.com/", ReasonScheme},
	{"file:///etc/passwd", ReasonMalformed}, {"file://example.com/etc/passwd", ReasonScheme},
	{"gopher://example.com:443/_x", ReasonScheme}, {"javascript:alert(1)", ReasonMalformed},
	{"data:text/plain,x", ReasonMalformed}, {"ws://example.com/", ReasonScheme}, {"unix:///run/docker.sock", ReasonMalformed},
	{"dict://example.com:11211/stats", ReasonScheme}, {"ldap://example.com/", ReasonScheme},
	// Ports.
	{"https://example.com:80/", ReasonPort}, {"https://example.com:8443/", ReasonPort}, {"https://example.com:22/", ReasonPort},
	{"https://example.com:0/", ReasonPort}, {"https://example.com:0443/", ReasonPort}, {"https://example.com:65979/", ReasonPort},
	{"https://example.com:/", ReasonMalformed}, {"https://example.com:-443/", ReasonMalformed}, {"https://example.com:443:443/", ReasonMalformed},
	{"https://8.8.8.8:8443/", ReasonPort}, {"https://127.0.0.1:65979/", ReasonPort}, {"http://8.8.8.8/", ReasonScheme},
	// User info and fragments.
	{"https://user@example.com/", ReasonUserInfo}, {"https://user:pass@example.com/", ReasonUserInfo},
	{"https://@example.com/", ReasonUserInfo}, {"https://:@example.com/", ReasonUserInfo},
	{"https://example.com@127.0.0.1/", ReasonUserInfo}, {"https://127.0.0.1@example.com/", ReasonUserInfo},
	{"https://example.com/#a", ReasonFragment}, {"https://example.com/#", ReasonFragment},
	{"https://example.com#@127.0.0.1/", ReasonFragment},
	// Names of the machine, of its network, of its cloud.
	{"https://localhost/", ReasonHost}, {"https://LOCALHOST/", ReasonHost}, {"https://a.localhost/", ReasonHost},
	{"https://localhost./", ReasonHost}, {"https://printer.local/", ReasonHost}, {"https://a.b.LoCaL/", ReasonHost},
	{"https://metadata.google.internal/", ReasonHost}, {"https://ip-10-0-0-1.ec2.internal/", ReasonHost},
	{"https://1.0.0.127.in-addr.arpa/", ReasonHost}, {"https://router.home.arpa/", ReasonHost},
	{"https://metadata/", ReasonHost}, {"https://intranet/", ReasonHost}, {"https://com/", ReasonHost},
	// Forms that are not names.
	{"https://example.com./", ReasonHost}, {"https://.example.com/", ReasonHost}, {"https://example..com/", ReasonHost},
	{"https://-a.example.com/", ReasonHost}, {"https://a-.example.com/", ReasonHost}, {"https://a_b.example.com/", ReasonHost},
	{"https://exa*mple.com/", ReasonHost}, {"https://example.com,evil.com/", ReasonHost}, {"https://$(id).example.com/", ReasonHost},
	{"https://" + strings.Repeat("a", 64) + ".com/", ReasonHost},
	{"https://" + strings.Repeat("a.", 126) + "com/", ReasonHost},
	// IPv4 in other spellings.
	{"https://2130706433/", ReasonHost}, {"https://0x7f000001/", ReasonHost}, {"https://017700000001/", ReasonHost},
	{"https://127.1/", ReasonHost}, {"https://127.0.1/", ReasonHost}, {"https://0x7f.1/", ReasonHost},
	{"https://0x7f.0x0.0x0.0x1/", ReasonHost}, {"https://0177.0.0.1/", ReasonHost}, {"https://127.0.0.01/", ReasonHost},
	{"https://127.0.0.1./", ReasonHost}, {"https://127.0.0.256/", ReasonHost}, {"https://1.2.3.4.5/", ReasonHost},
	{"https://0/", ReasonHost}, {"https://example.1/", ReasonHost}, {"https://example.0x1/", ReasonHost}, {"https://2852039166/", ReasonHost},
	// Literals of ranges that are not public.
	{"https://0.0.0.0/", ReasonAddress}, {"https://10.0.0.1/", ReasonAddress}, {"https://100.64.0.1/", ReasonAddress},
	{"https://169.254.169.254/latest/meta-data/", ReasonAddress}, {"https://172.16.0.1/", ReasonAddress},
	{"https://192.168.1.1/", ReasonAddress}, {"https://224.0.0.1/", ReasonAddress}, {"https://255.255.255.255/", ReasonAddress},
	{"http://169.254.169.254:80/", ReasonAddress}, {"https://[::]/", ReasonAddress}, {"https://[fd00:ec2::254]/", ReasonAddress},
	{"https://[fe80::1]/", ReasonAddress}, {"https://[ff02::1]/", ReasonAddress}, {"https://[64:ff9b::7f00:1]/", ReasonAddress},
	{"https://[2002:7f00:1::]/", ReasonAddress}, {"https://[2001:db8::1]/", ReasonAddress},
	{"https://[::ffff:127.0.0.1]/", ReasonAddress}, {"https://[::ffff:7f00:1]/", ReasonAddress},
	{"https://[0:0:0:0:0:ffff:a9fe:a9fe]/", ReasonAddress}, {"https://[::127.0.0.1]/", ReasonAddress},
	{"https://[fec0::1]/", ReasonAddress}, {"https://[::ffff:8.8.8.8]/", ReasonAddress},
	// IPv6 in forms that are not addresses.
	{"https://[fe80::1%25eth0]/", ReasonHost}, {"https://[2606:4700::1111%25lo]/", ReasonHost}, {"https://[fe80::1%eth0]/", ReasonMalformed},
	{"https://[127.0.0.1]/", ""}, {"https://[::1/", ReasonMalformed}, {"https://::1/", ""}, {"https://[v1.a]/", ""}, {"https://[]/", ""},
	{"https://[::1]a/", ReasonMalformed}, {"https://[example.com]/", ""},
	// Too long.
	{"https://example.com/" + strings.Repeat("a", 2049-len("https://example.com/")), ReasonTooLong},
}

// loopbackURLs are refused by a guard that allows nothing.
var loopbackURLs = []string{
	"https://127.0.0.1/", "http://127.0.0.1/", "http://127.0.0.1:9000/hook", "https://127.255.255.255/",
	"http://[::1]:9000/", "https://[::1]/", "https://[0:0:0:0:0:0:0:1]:8443/",
}

func TestHostileURLsAreRefusedAtRegistration(t *testing.T) {
	if n := len(hostileURLs) + len(loopbackURLs); n < 60 { // so that no one empties the lists
		t.Fatalf("%d URLs are too few", n)
	}
	for name, g := range map[string]*Guard{"nothing allowed": NewGuard(nil), "loopback allowed": onLoopback(t)} {
		for _, c := range hostileURLs {
			u, err := g.parse(c.url)
			got := reasonOf(t, err)
			refused, asWanted := got != "" && u == nil, c.want == "" || got == c.want
			if !refused || !asWanted {
				t.Errorf("%s: %.80q: %v, %q, want %q", name, c.url, u, got, c.want)
			}
		}
	}
	for _, raw := range loopbackURLs {
		if _, err := NewGuard(nil).parse(raw); reasonOf(t, err) != ReasonAddress {
			t.Errorf("%q: %v", raw, err)
		}
		if _, err := onLoopback(t).parse(raw); err != nil {
			t.Errorf("%q with loopback allowed: %v", raw, err)
		}
	}
}

func TestGoodURLsAreAcceptedUnchanged(t *testing.T) {
	for _, raw := range []string{
		"https://example.com", "https://example.com/", "https://example.com:443/hook?a=b&c=%20d", "HTTPS://Example.COM/Hook",
		"https://xn--bcher-kva.example/", "https://a.b.c.d.example.co.uk/", "https://1.example.com/", "https://local.example.com/",
		"https://localhost.example.com/", "https://8.8.8.8/", "https://8.8.8.8:443/", "https://[2606:4700:4700::1111]/",
		"https://[2606:4700:4700::1111]:443/hook", "https://example.com/@user", "https://example.com/?u=http://127.0.0.1/",
		"https://" + strings.Repeat("a", 63) + ".com/", "https://" + strings.Repeat("a.", 125) + "com/", // the longest label and name
		"https://az-09.example.ai/", "https://example.zone/",
		"https://example.com/" + strings.Repeat("a", 2048-len("https://example.com/")),
	} {
		u, err := NewGuard(nil).parse(raw)
		if err != nil {
			t.Errorf("%.80q: %v", raw, err)
			continue
		}
		if want := strings.Replace(raw, "HTTPS", "https", 1); u.String() != want {
			t.Errorf("%q became %q", raw, u)
		}
	}
}

func TestARefusalShowsItsReasonAndNothingElse(t *testing.T) {
	_, err := NewGuard(nil).parse("https://10.1.2.3/secret")
	if err == nil || err.Error() != "outbound: refused: "+ReasonAddress {
		t.Errorf("%v", err)
	}
}

// FuzzAGoodURLHasOnePublicHost: each parser of URLs reads the same host in a URL that the guard accepts, and the host is
// public.
func FuzzAGoodURLHasOnePublicHost(f *testing.F) {
	for _, c := range hostileURLs {
		f.Add(c.url)
	}
	for _, seed := range append(loopbackURLs, "https://example.com", "HTTPS://Example.COM:443/Hook?a=b&c=%20d", "https://8.8.8.8/", "https://[2606:4700:4700::1111]:443/hook", "https://xn--bcher-kva.example/?u=http://127.0.0.1/@a") {
		f.Add(seed)
	}
	guard := NewGuard(nil)
	// The scheme, the authority, and the path and the query.
	form := regexp.MustCompile(`^(?i:https)://([^/?]+)([/?].*)?$`)
	name := regexp.MustCompile(`^(?i:[a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-zA-Z][a-zA-Z0-9-]*$`)
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := guard.parse(raw)
		if reason := reasonOf(t, err); reason != guard.Refusal(raw) || (reason == "") != (u != nil) {
			t.Fatalf("%q: %q, %v", raw, guard.Refusal(raw), u)
		}
		if err != nil {
			return
		}
		parts := form.FindStringSubmatch(raw)
		if parts == nil || len(raw) > MaxURL || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' || r == '#' }) {
			t.Fatalf("%q is accepted", raw)
		}
		host := strings.TrimSuffix(parts[1], ":443")
		addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
		isAddress := err == nil && addr.IsGlobalUnicast() && !addr.IsPrivate() && !addr.Is4In6() && addr.Zone() == "" && addr.Is6() == (host[0] == '[')
		lower := strings.ToLower(host)
		isName := name.MatchString(host) && !strings.HasSuffix(lower, ".localhost") && !strings.HasSuffix(lower, ".local") && !strings.HasSuffix(lower, ".internal")
		if !isAddress && !isName {
			t.Errorf("%q: the host %q is accepted", raw, host)
		}
		if dialled, isLiteral := hostOf(u); u.Scheme != "https" || u.User != nil || u.Host != parts[1] || dialled != strings.Trim(host, "[]") || isLiteral != isAddress {
			t.Errorf("%q: %v, dialled as %q, want the host %q", raw, u, dialled, host)
		}
	})
}
