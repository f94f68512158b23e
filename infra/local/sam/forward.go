package sam

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// forwarder lets containers reach services of this machine that listen on loopback. For each service, a server listens on
// the same port at this machine's address on Docker's bridge, and passes requests on.
type forwarder []*http.Server

// bridge returns the address of this machine on Docker's bridge. It is "" without a bridge, as with
// Docker Desktop, whose containers reach loopback without a forwarder.
func bridge() (string, error) {
	i, err := net.InterfaceByName("docker0")
	if err != nil {
		return "", nil //nolint:nilerr // no bridge is no error
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

// forward starts a forwarder for services, given by their base URLs. address is that of bridge; "": none is needed.
func forward(address string, bases ...string) (f forwarder, err error) {
	if address == "" {
		return nil, nil
	}
	for _, base := range bases {
		to, err := url.Parse(base)
		if err != nil {
			return f, err
		}
		l, err := net.Listen("tcp", net.JoinHostPort(address, to.Port()))
		if err != nil {
			return f, err
		}
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
			// When a service does not answer, the container's connection ends too.
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		}}
		f = append(f, server)
		go func() { _ = server.Serve(l) }() // close ends it
	}
	return f, nil
}

func (f forwarder) close() {
	for _, server := range f {
		_ = server.Close()
	}
}
