package outbound

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// raw starts a receiver on loopback that calls speak with each connection, and returns its URL. speak may send any
// bytes, not only HTTP.
func raw(t *testing.T, speak func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				speak(c)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// silent reads everything and sends nothing.
func silent(c net.Conn) { io.Copy(io.Discard, c) }

// afterRequest reads a request without a body, and then calls speak.
func afterRequest(speak func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			speak(c)
		}
	}
}

// trickle sends a text and then a byte after each pause, until the connection is closed.
func trickle(start string, pause time.Duration) func(net.Conn) {
	return func(c net.Conn) {
		_, err := io.WriteString(c, start)
		for ; err == nil; _, err = c.Write([]byte("a")) {
			time.Sleep(pause)
		}
	}
}

// drip reads a request, sends a text and then a byte after each pause.
func drip(start string, pause time.Duration) func(net.Conn) {
	return afterRequest(trickle(start, pause))
}

// flood reads a request, sends a text, and then repeats one block. sent counts the bytes after the text.
func flood(start, block string, sent *atomic.Int64) func(net.Conn) {
	const most = 256 << 20                                    // ends the flood if nothing cuts the connection
	again := []byte(strings.Repeat(block, 1+4096/len(block))) // at least 4 KB in one write
	return afterRequest(func(c net.Conn) {
		n, err := io.WriteString(c, start)
		for ; err == nil && sent.Load() < most; n, err = c.Write(again) {
			sent.Add(int64(n))
		}
	})
}

// quick returns a sender with short time limits.
func quick(t *testing.T) *Sender {
	t.Helper()
	s := NewSender(onLoopback(t), WithTimeouts(400*time.Millisecond, 200*time.Millisecond))
	s.handshake, s.answer = 200*time.Millisecond, 200*time.Millisecond
	return s
}

const ok = "HTTP/1.1 200 OK\r\n"

// hostileReceiver is a receiver that a stranger may run, and the expected result of an attempt by the sender quick.
type hostileReceiver struct {
	speak  func(net.Conn)
	tls    bool // the URL is https
	status int
	err    string
}

// hostileReceivers returns the receivers by name. sent counts the bytes that a flood has sent.
func hostileReceivers(sent *atomic.Int64) map[string]hostileReceiver {
	block := strings.Repeat("x", 64<<10)
	bomb := gzipped(10 << 20)
	return map[string]hostileReceiver{
		"10 MB":                {flood(ok+"Content-Length: 10485760\r\n\r\n", block, sent), false, 200, ""},
		"endless":              {flood(ok+"\r\n", block, sent), false, 200, ""},
		"endless chunks":       {flood(ok+"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", sent), false, 200, ""},
		"a chunk's extension":  {flood(ok+"Transfer-Encoding: chunked\r\n\r\n1;", block, sent), false, 200, ""},
		"gzip bomb":            {afterRequest(func(c net.Conn) { io.WriteString(c, ok+"Content-Encoding: gzip\r\n\r\n"+bomb) }), false, 200, ""},
		"slow body":            {drip(ok+"Content-Length: 1000\r\n\r\n", 20*time.Millisecond), false, 200, ""},
		"body that never ends": {afterRequest(func(c net.Conn) { io.WriteString(c, ok+"Content-Length: 99\r\n\r\n"); silent(c) }), false, 200, ""},
		"body that breaks off": {afterRequest(func(c net.Conn) { io.WriteString(c, ok+"Content-Length: 99\r\n\r\nab") }), false, 200, ""},
		"slow headers":         {drip(ok+"A: ", 20*time.Millisecond), false, 0, FailTimeout},
		"slow status":          {drip("", 20*time.Millisecond), false, 0, FailTimeout},
		"one long header":      {flood(ok+"A: ", block, sent), false, 0, FailProtocol},
		"many headers":         {flood(ok, "A: b\r\n", sent), false, 0, FailProtocol},
		"a long status":        {flood("HTTP/1.1 200 ", block, sent), false, 0, FailProtocol},
		"endless 103":          {flood("", "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n", sent), false, 0, FailProtocol},
		"silence":              {silent, false, 0, FailTimeout},
		"closes at once":       {func(net.Conn) {}, false, 0, FailProtocol},
		"another protocol":     {func(c net.Conn) { io.WriteString(c, "220 mail ESMTP\r\n"); silent(c) }, false, 0, FailProtocol},
		"switches protocols": {afterRequest(func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 101 S\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n")
			silent(c)
		}), false, 101, ""},
		"hung handshake":    {silent, true, 0, FailTLS},
		"handshake cut off": {func(c net.Conn) { c.Read(make([]byte, 1)) }, true, 0, FailTLS},
		"no TLS":            {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n"); silent(c) }, true, 0, FailTLS},
		// The five bytes are the beginning of a TLS record of 16 KB.
		"slow handshake": {trickle("\x16\x03\x03\x40\x00", 20*time.Millisecond), true, 0, FailTLS},
	}
}

// gzipped returns n zero bytes, compressed to about a thousandth of their size.
func gzipped(n int) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(make([]byte, n))
	w.Close()
	return b.String()
}

func TestAttemptsAtHostileReceiversEndInTime(t *testing.T) {
	var sent atomic.Int64
	for name, c := range hostileReceivers(&sent) {
		t.Run(name, func(t *testing.T) {
			sent.Store(0)
			to := raw(t, c.speak)
			if c.tls {
				to = strings.Replace(to, "http:", "https:", 1)
			}
			r := quick(t).Post(context.Background(), to, nil, nil)
			if r.Status != c.status || r.Err != c.err || len(r.Answer) > maxAnswer {
				t.Errorf("%+v, want %d %q", r, c.status, c.err)
			}
			if r.Took > time.Second {
				t.Errorf("took %v", r.Took)
			}
			// The socket buffers of loopback hold some megabytes. The sender must read only that much of the
			// answer, also after Post has returned.
			time.Sleep(20 * time.Millisecond)
			if n := sent.Load(); n > 16<<20 {
				t.Errorf("the receiver could send %d bytes", n)
			}
		})
	}
}

// TestDefaultLimitsEndAnAttemptWithinTwelveSeconds uses the defaults of NewSender: 10 s in all, 3 s to resolve and connect, 5 s for
// the handshake, 2 s for the body. All attempts run at the same time.
func TestDefaultLimitsEndAnAttemptWithinTwelveSeconds(t *testing.T) {
	if testing.Short() {
		t.Skip("the test takes ten seconds")
	}
	s := NewSender(onLoopback(t))
	var wg sync.WaitGroup
	for name, c := range map[string]struct {
		to     string
		err    string
		status int
		least  time.Duration // least and most: the time of the attempt
		most   time.Duration
	}{
		"headers, a byte a second": {raw(t, drip(ok+"A: ", time.Second)), FailTimeout, 0, 9 * time.Second, 12 * time.Second},
		"silence":                  {raw(t, silent), FailTimeout, 0, 9 * time.Second, 12 * time.Second},
		"body, a byte a second":    {raw(t, drip(ok+"\r\n", time.Second)), "", 200, time.Second, 4 * time.Second},
		"hung handshake":           {strings.Replace(raw(t, silent), "http:", "https:", 1), FailTLS, 0, 4 * time.Second, 7 * time.Second},
	} {
		wg.Go(func() {
			r := s.Post(context.Background(), c.to, nil, nil)
			t.Logf("%s: %d %q in %v", name, r.Status, r.Err, r.Took)
			if r.Err != c.err || r.Status != c.status || r.Took < c.least || r.Took > c.most {
				t.Errorf("%s: %+v", name, r)
			}
		})
	}
	wg.Go(func() {
		slow := NewSender(NewGuard(nil), WithResolver(hanging{}))
		r := slow.Post(context.Background(), "https://hook.example.com/", nil, nil)
		if r.Err != FailDNS || r.Took < 2*time.Second || r.Took > 4*time.Second {
			t.Errorf("a name server that hangs: %+v", r)
		}
	})
	wg.Wait()
}

func TestAnAttemptIsOneConnectionAndOneRequest(t *testing.T) {
	var connections, requests atomic.Int64
	to := raw(t, func(c net.Conn) {
		connections.Add(1)
		in := bufio.NewReader(c)
		for {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			requests.Add(1)
			fmt.Fprint(c, "HTTP/1.1 503 Later\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n")
		}
	})
	s := quick(t)
	for n := int64(1); n <= 3; n++ {
		if r := s.Post(context.Background(), to, nil, nil); r.Status != 503 {
			t.Fatalf("%+v", r)
		}
		if connections.Load() != n || requests.Load() != n {
			t.Errorf("after %d attempts: %d connections, %d requests", n, connections.Load(), requests.Load())
		}
	}
}
