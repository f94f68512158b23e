package sam

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// forwarder lets containers reach services of this machine that listen on loopback. It listens on
// the same ports of the Docker bridge's address.
type forwarder struct {
	listeners []net.Listener
	mu        sync.Mutex
	open      map[net.Conn]struct{}
}

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

// forward starts a forwarder for the given base URLs. Without a gateway it has nothing to do.
func forward(gateway string, bases ...string) (*forwarder, error) {
	f := &forwarder{open: map[net.Conn]struct{}{}}
	if gateway == "" {
		return f, nil
	}
	for _, base := range bases {
		port, err := portOf(base)
		if err != nil {
			return nil, err
		}
		l, err := net.Listen("tcp", net.JoinHostPort(gateway, port))
		if err != nil {
			f.close()
			return nil, err
		}
		f.listeners = append(f.listeners, l)
		go f.accept(l, net.JoinHostPort("127.0.0.1", port))
	}
	return f, nil
}

func (f *forwarder) accept(l net.Listener, to string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return // closed
		}
		go f.pipe(in, to)
	}
}

func (f *forwarder) pipe(in net.Conn, to string) {
	out, err := net.Dial("tcp", to)
	if err != nil {
		_ = in.Close() // the service is not there, so close the connection
		return
	}
	f.keep(in, out)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			_, err := io.Copy(way[0], way[1])
			if c, ok := way[0].(*net.TCPConn); ok && err == nil {
				err = c.CloseWrite()
			}
			if err != nil && !errors.Is(err, net.ErrClosed) {
				_ = way[0].Close()
			}
		})
	}
	both.Wait()
	_, _ = in.Close(), out.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, in)
	delete(f.open, out)
}

func (f *forwarder) keep(conns ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		f.open[c] = struct{}{}
	}
}

func (f *forwarder) close() {
	for _, l := range f.listeners {
		_ = l.Close()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.open {
		_ = c.Close()
	}
}
