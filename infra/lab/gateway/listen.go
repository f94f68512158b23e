package gateway

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"sync"
)

// NewServer makes a server for a listener of Mend.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, DisableGeneralOptionsHandler: true, ConnState: func(c net.Conn, state http.ConnState) {
		if m, ok := c.(*mendingConn); ok && state == http.StateIdle {
			m.expectRequest()
		}
	}}
}

// Mend wraps a listener so that request targets with a percent sign that escapes nothing ("/v1/pets/100%")
// arrive, as with API Gateway. net/http would refuse them. The server must be one of NewServer.
func Mend(l net.Listener) net.Listener { return &mendingListener{l} }

type mendingListener struct{ net.Listener }

func (l *mendingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &mendingConn{Conn: c, in: bufio.NewReaderSize(c, longestLine), start: true}, nil
}

// longestLine is the longest request line that is mended. A longer one is not changed.
const longestLine = 16 << 10

// mendingConn escapes stray percent signs in request lines.
type mendingConn struct {
	net.Conn
	in *bufio.Reader

	mu     sync.Mutex
	start  bool   // a request line comes next
	mended []byte // the unread part of a mended request line
}

func (c *mendingConn) expectRequest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start = true
}

func (c *mendingConn) Read(p []byte) (int, error) {
	if c.takeStart() {
		line := c.peekLine()
		if m := mend(line); len(m) != len(line) {
			_, _ = c.in.Discard(len(line))
			c.mended = m
		}
	}
	if len(c.mended) > 0 {
		n := copy(p, c.mended)
		c.mended = c.mended[n:]
		return n, nil
	}
	return c.in.Read(p)
}

func (c *mendingConn) takeStart() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	start := c.start
	c.start = false
	return start
}

// peekLine returns the next line with its end, without reading it, or nil when no line comes.
func (c *mendingConn) peekLine() []byte {
	for n := 1; n <= longestLine; n = c.in.Buffered() + 1 {
		b, err := c.in.Peek(n)
		if all, _ := c.in.Peek(c.in.Buffered()); len(all) > 0 {
			if i := bytes.IndexByte(all, '\n'); i >= 0 {
				return all[:i+1]
			}
		}
		if err != nil || len(b) == 0 {
			return nil
		}
	}
	return nil
}

// mend escapes every percent sign that is not followed by two hexadecimal digits.
func mend(line []byte) []byte {
	var out []byte
	for i, b := range line {
		out = append(out, b)
		if b == '%' && (i+2 >= len(line) || !isHex(line[i+1]) || !isHex(line[i+2])) {
			out = append(out, '2', '5')
		}
	}
	return out
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}
