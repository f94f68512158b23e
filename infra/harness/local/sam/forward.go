package sam

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// bridge returns the address of this machine on Docker's bridge, or "" if there is no bridge. Docker Desktop has no
// bridge: its containers reach loopback without a proxy.
func bridge() (string, error) {
	i, err := net.InterfaceByName("docker0")
	if err != nil {
		return "", nil //nolint:nilerr // a missing bridge is not an error
	}
	addresses, err := i.Addrs()
	if err != nil {
		return "", err
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			return n.IP.String(), nil
		}
	}
	return "", fmt.Errorf("docker0 has no IPv4 address: %v", addresses)
}

// forward lets containers reach services that listen on this machine's loopback address, by the base URLs. For each it starts a proxy
// on the same port of bridgeAddress (see bridge). With the address "" it does nothing.
func (s *SAM) forward(bridgeAddress string, bases ...string) error {
	if bridgeAddress == "" {
		return nil
	}
	for _, base := range bases {
		to, err := url.Parse(base)
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", net.JoinHostPort(bridgeAddress, to.Port()))
		if err != nil {
			return err
		}
		// The service gets the Host of the container's request, as it does without a proxy.
		pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host }}
		p := &http.Server{Handler: pass, ReadHeaderTimeout: time.Minute}
		s.proxies = append(s.proxies, p)
		go func() { _ = p.Serve(l) }() // until Close
	}
	return nil
}
