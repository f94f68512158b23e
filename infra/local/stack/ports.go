package stack

import (
	"cmp"
	"context"
	"fmt"
	"net"

	"latchkey/infra/lab/translated"
)

// Ports are the ports of a stack, all on 127.0.0.1.
type Ports struct {
	Gateway, Control, DynamoDB, KMS, Issuer, Runtime, Queue, AWS, Consumer int

	URLs int // of the first function URL; the others follow
}

// PortsFrom returns the ports of the stack whose gateway listens on port.
func PortsFrom(port int) Ports {
	return Ports{port, port + 1, port + 2, port + 3, port + 4, port + 5, port + 6, port + 7, port + 8, port + 9}
}

// listen listens on the ports that this process serves, and checks that the others are free. So no
// second stack can use this one's state.
func (s *Stack) listen(context.Context) error {
	s.ports = PortsFrom(s.options.Port)
	if s.options.Port == 0 {
		if err := s.freePorts(); err != nil {
			return err
		}
	}
	if err := s.takePorts(); err != nil {
		return err
	}
	for _, p := range []int{s.ports.DynamoDB, s.ports.KMS, s.ports.Issuer, s.ports.Runtime, s.ports.Queue} {
		l, err := listenOn(p)
		if err != nil {
			return err
		}
		_ = l.Close()
	}
	s.URL, s.Control, s.AWS = loopback(s.ports.Gateway), loopback(s.ports.Control), loopback(s.ports.AWS)
	s.Issuer = cmp.Or(s.options.Parameters["Issuer"], IssuerURL(s.ports.Issuer))
	return nil
}

// takePorts listens on the ports that this process serves, but for those of function URLs.
func (s *Stack) takePorts() error {
	s.listens = make(map[int]net.Listener)
	own := []int{s.ports.Gateway, s.ports.Control, s.ports.AWS}
	if s.options.Consumer != "" {
		own = append(own, s.ports.Consumer)
		s.Consumer = loopback(s.ports.Consumer)
	}
	for _, p := range own {
		l, err := listenOn(p)
		if err != nil {
			return err
		}
		s.listens[p] = l
	}
	return nil
}

// takeURLs listens on a port for each function URL, and resolves the template with the addresses. A
// function URL keeps its port as long as the stack runs.
func (s *Stack) takeURLs() error {
	for i, id := range s.template.Declared(translated.URLType) {
		if s.ports.URLs != 0 {
			s.urlPorts[id] = s.ports.URLs + i
		}
	}
	var err error
	if s.urls, err = s.template.FunctionURLs(); err != nil {
		return err
	}
	s.FunctionURLs = make(map[string]string)
	for _, u := range s.urls {
		l, err := listenOn(s.urlPorts[u.ID])
		if err != nil {
			return err
		}
		port := l.Addr().(*net.TCPAddr).Port
		s.listens[port], s.urlPorts[u.ID], s.FunctionURLs[u.Function] = l, port, loopback(port)
	}
	s.template, err = s.template.Resolve(s.resolveOptions(s.template.Parameters))
	return err
}

// listenOn listens on a port of 127.0.0.1, or on a free one if port is 0.
func listenOn(port int) (net.Listener, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("port %d is taken (choose others with PORT=): %w", port, err)
	}
	return l, nil
}

func loopback(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }

// freePorts sets all ports to free ones, but for those of function URLs. It holds them until it has all, so
// that they differ.
func (s *Stack) freePorts() error {
	p := &s.ports
	*p = Ports{}
	for _, port := range []*int{&p.Gateway, &p.Control, &p.DynamoDB, &p.KMS, &p.Issuer, &p.Runtime, &p.Queue, &p.AWS, &p.Consumer} {
		l, err := listenOn(0)
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }()
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return nil
}
