package webhook

import (
	"net/netip"
	"net/url"
	"strings"
)

// Origin returns the scheme, host and port of a URL, each in one spelling:
// https://hooks.example.com (RFC 6454, section 6.2). It leaves out the scheme's own port. It has
// no path and no query, which may hold a secret. A text that is no URL has the origin "".
func Origin(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.String()
		if addr.Is6() {
			host = "[" + host + "]"
		}
	}
	if port == "" || scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		return scheme + "://" + host
	}
	return scheme + "://" + host + ":" + port
}
