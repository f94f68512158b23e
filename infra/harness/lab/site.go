package lab

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"latchkey/infra/tools"
)

// Ports are the ports of a stack, all on 127.0.0.1.
type Ports struct {
	Gateway, Control, DynamoDB, KMS, Issuer, Runtime, Queue, AWS, Consumer int

	URLs int // the port of the first function URL; the others follow
}

// PortsFrom returns the ports of the stack whose gateway listens on port.
func PortsFrom(port int) Ports {
	var p Ports
	for i, number := range p.all() {
		*number = port + i
	}
	p.URLs = p.Consumer + 1
	return p
}

// all returns all ports except the ports of function URLs.
func (p *Ports) all() []*int {
	return []*int{&p.Gateway, &p.Control, &p.DynamoDB, &p.KMS, &p.Issuer, &p.Runtime, &p.Queue, &p.AWS, &p.Consumer}
}

// Site has the addresses of a stack on this machine, and the servers that listen there.
type Site struct {
	URL          string            // base URL of the API
	Consumer     string            // base URL of the consumer's API; "": there is no consumer
	Control      string            // base URL of the control endpoint
	AWS          string            // base URL of the endpoint where the functions call AWS
	FunctionURLs map[string]string // base URL of each function URL, by its function's logical id
	Ports        Ports

	urlPorts map[string]int // ports of the function URLs, by their logical ids
	listens  map[int]net.Listener
	servers  []*http.Server
	fail     func(error) // gets an error when a server ends by itself
}

// Listen reserves the ports from the given port on, or free ports if it is 0. It listens on the ports that this process always
// serves, so that no second stack can use this stack's state. It checks that the other ports are free.
func Listen(port int) (*Site, error) {
	if port == 0 {
		var err error
		if port, err = tools.FreePorts(16); err != nil { // also for some function URLs
			return nil, err
		}
	}
	s := &Site{Ports: PortsFrom(port), urlPorts: make(map[string]int)}
	for _, port := range s.Ports.all() {
		if _, err := tools.FreePort(*port); err != nil {
			return nil, err
		}
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.URL, s.Control, s.AWS = loopback(s.Ports.Gateway), loopback(s.Ports.Control), loopback(s.Ports.AWS)
	return s, nil
}

// open listens on the ports that this process always serves. It can be called again after Close.
func (s *Site) open() error {
	s.listens = make(map[int]net.Listener)
	for _, port := range []int{s.Ports.Gateway, s.Ports.Control, s.Ports.AWS} {
		if err := s.listen(port); err != nil {
			return err
		}
	}
	return nil
}

func (s *Site) listen(port int) error {
	l, err := tools.Listen(port)
	if err == nil {
		s.listens[port] = l
	}
	return err
}

func loopback(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }

// serve starts a server on a port that the site listens on.
func (s *Site) serve(h http.Handler, port int) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	s.servers = append(s.servers, server)
	l := s.listens[port]
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.fail(err)
		}
	}()
}

// Close ends the servers, and frees the ports.
func (s *Site) Close() error {
	var errs []error
	for _, server := range s.servers {
		errs = append(errs, server.Close())
	}
	for _, l := range s.listens {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) { // a server has closed its own listener
			errs = append(errs, err)
		}
	}
	s.servers, s.listens = nil, nil
	return errors.Join(errs...)
}
