package sam

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
)

// forwarder lets containers reach services that listen on this machine's loopback address. It listens on
// the same ports of the Docker bridge's address.
type forwarder []net.Listener

// bridge returns the address of this machine on Docker's bridge, or "" if there is no bridge. Docker Desktop has no
// bridge: its containers reach loopback without a forwarder.
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

// forward starts a forwarder for the given base URLs. It listens on bridgeAddress (see bridge); "": it does nothing.
func forward(bridgeAddress string, bases ...string) (f forwarder, err error) {
	if bridgeAddress == "" {
		return nil, nil
	}
	for _, base := range bases {
		u, err := url.Parse(base)
		if err != nil {
			return f, err
		}
		l, err := net.Listen("tcp", net.JoinHostPort(bridgeAddress, u.Port()))
		if err != nil {
			return f, err
		}
		f = append(f, l)
		go func() {
			for in, err := l.Accept(); err == nil; in, err = l.Accept() { // until l is closed
				go pipe(in, u.Host)
			}
		}()
	}
	return f, nil
}

// pipe copies data in both directions, until both ends are closed.
func pipe(in net.Conn, to string) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return // the service does not run: close the connection
	}
	defer func() { _ = out.Close() }()
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
}

// close stops accepting connections. Open connections end with sam local's containers.
func (f forwarder) close() {
	for _, l := range f {
		_ = l.Close()
	}
}
