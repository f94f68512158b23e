package outbound

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// answers is a resolver. Each lookup returns the next answer of the list; the last answer repeats.
type answers struct {
	mu    sync.Mutex
	list  [][]string // addresses
	names []string   // the names that were looked up
	err   error      // returned in place of an answer; nil: not used
}

func (a *answers) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names = append(a.names, name)
	if a.err != nil {
		return nil, a.err
	}
	answer := a.list[0]
	if len(a.list) > 1 {
		a.list = a.list[1:]
	}
	var out []netip.Addr
	for _, s := range answer {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

var errStop = errors.New("a test connects only to its own machine")

// stayHome records the sockets that the guard permits. It allows connections only to loopback, where a listener of
// the test counts them. Tests with real addresses use it.
type stayHome struct {
	mu        sync.Mutex
	permitted []string
}

// stop is a beforeConnect function of a Sender. Its error ends a connection to another machine.
func (s *stayHome) stop(_ context.Context, to string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permitted = append(s.permitted, to)
	if a, err := netip.ParseAddrPort(to); err == nil && a.Addr().IsLoopback() {
		return nil
	}
	return errStop
}

// homebound returns a sender that resolves by r and connects only to this machine.
func homebound(g *Guard, r Resolver) (*Sender, *stayHome) {
	home := &stayHome{}
	s := NewSender(g, WithResolver(r))
	s.beforeConnect = home.stop
	return s, home
}

// counting listens on loopback and counts connections.
func counting(t *testing.T) (l net.Listener, accepts *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepts = &atomic.Int64{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepts.Add(1)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close() })
	return l, accepts
}

// TestNamesThatResolveToHostileAddressesAreRefused: a guard that allows loopback refuses them too, because it allows an
// address only in the URL itself.
func TestNamesThatResolveToHostileAddressesAreRefused(t *testing.T) {
	for _, addr := range hostileAddresses {
		for name, g := range map[string]*Guard{"nothing allowed": NewGuard(nil), "loopback allowed": onLoopback(t)} {
			// The socket for ::ffff:8.8.8.8 is a socket for 8.8.8.8, which is public.
			if public(netip.MustParseAddr(addr).Unmap()) {
				continue
			}
			s, home := homebound(g, &answers{list: [][]string{{addr}}})
			got := s.Post(context.Background(), "https://hook.example.com/", nil, nil)
			refused := got.Err == FailRefused || unreachable(addr, got)
			if !refused || got.Status != 0 || len(home.permitted) != 0 {
				t.Errorf("%s, %s: %+v, permitted %v", name, addr, got, home.permitted)
			}
		}
	}
}

// unreachable reports whether the attempt failed because the test's machine has no IPv6.
func unreachable(addr string, r Result) bool {
	return netip.MustParseAddr(addr).Is6() && r.Err == FailConnect && !hasIPv6()
}

var hasIPv6 = sync.OnceValue(func() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
})

func TestANameOfAPublicAddressPassesTheGuardAtItsSocket(t *testing.T) {
	for addr, want := range map[string]string{
		"93.184.216.34": "93.184.216.34:443", "::ffff:93.184.216.34": "93.184.216.34:443", "2606:4700::1111": "[2606:4700::1111]:443",
	} {
		if strings.Contains(want, "[") && !hasIPv6() {
			t.Logf("no IPv6 here: %s is not tried", addr)
			continue
		}
		resolver := &answers{list: [][]string{{addr}}}
		s, home := homebound(NewGuard(nil), resolver)
		got := s.Post(context.Background(), "https://hook.example.com/", nil, nil)
		if got.Err != FailConnect || len(home.permitted) != 1 || home.permitted[0] != want {
			t.Errorf("%s: %+v, permitted %v", addr, got, home.permitted)
		}
		if len(resolver.names) != 1 || resolver.names[0] != "hook.example.com." {
			t.Errorf("looked up %q", resolver.names)
		}
	}
}

func TestTheHostileAddressOfANameIsNeverReached(t *testing.T) {
	for _, c := range []struct {
		answer    []string
		permitted []string // the sockets of the addresses before the hostile one
	}{
		{[]string{"127.0.0.1", "93.184.216.34"}, nil},
		{[]string{"93.184.216.34", "127.0.0.1"}, []string{"93.184.216.34:443"}},
		{[]string{"93.184.216.34", "::ffff:127.0.0.1", "93.184.216.35"}, []string{"93.184.216.34:443"}},
	} {
		s, home := homebound(onLoopback(t), &answers{list: [][]string{c.answer}})
		got := s.Post(context.Background(), "https://hook.example.com/", nil, nil)
		if got.Err != FailRefused || !slices.Equal(home.permitted, c.permitted) {
			t.Errorf("%v: %+v, permitted %v", c.answer, got, home.permitted)
		}
	}
}

func TestAtMostFourAddressesOfANameAreTried(t *testing.T) {
	s, home := homebound(NewGuard(nil), &answers{list: [][]string{{"1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4", "1.1.1.5", "1.1.1.6"}}})
	var left time.Duration // the time of the last address
	s.beforeConnect = func(ctx context.Context, to string) error {
		end, _ := ctx.Deadline()
		left = time.Until(end)
		return home.stop(ctx, to)
	}
	if got := s.Post(context.Background(), "https://hook.example.com/", nil, nil); got.Err != FailConnect || len(home.permitted) != 4 || left < s.connect/2 {
		t.Errorf("%+v, permitted %v, %s for the last", got, home.permitted, left)
	}
}

// TestANameThatChangesBetweenCheckAndDialIsNeverConnected: the name resolves to a public address at the check and to
// loopback at the dial. The listener cannot have port 443. So the test also calls dial with the listener's port, although
// a URL cannot have this port: the guard checks the address before the port.
func TestANameThatChangesBetweenCheckAndDialIsNeverConnected(t *testing.T) {
	l, accepts := counting(t)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for name, g := range map[string]*Guard{"nothing allowed": NewGuard(nil), "loopback allowed": onLoopback(t)} {
		rebind := &answers{list: [][]string{{"93.184.216.34"}, {"127.0.0.1"}}}
		s, home := homebound(g, rebind)

		// The check permits the URL and the first address of its name.
		u, err := g.parse("https://rebind.example.com/")
		if err != nil {
			t.Fatal(err)
		}
		first, err := rebind.LookupNetIP(context.Background(), "ip", u.Host)
		if err != nil || g.decide("https", false, netip.AddrPortFrom(first[0], 443)) != nil {
			t.Fatalf("the first answer is refused: %v, %v", first, err)
		}
		// The dial: first the whole Post, then to the listener's own port.
		if got := s.Post(context.Background(), u.String(), nil, nil); got.Err != FailRefused {
			t.Errorf("%s: %+v", name, got)
		}
		a := &attempt{sender: s, url: u}
		conn, err := a.dial(context.Background(), "tcp", net.JoinHostPort(u.Host, port))
		if conn != nil || reasonOf(t, err) != ReasonAddress {
			t.Errorf("%s: %v, %v", name, conn, err)
		}
		if len(home.permitted) != 0 {
			t.Errorf("%s: permitted %v", name, home.permitted)
		}
	}
	time.Sleep(50 * time.Millisecond)
	if n := accepts.Load(); n != 0 {
		t.Errorf("the listener had %d connections", n)
	}
	// Check that the listener does count a connection: otherwise the zero above proves nothing.
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for end := time.Now().Add(2 * time.Second); accepts.Load() != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the listener counts nothing")
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	trap, accepts := counting(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{"http://" + trap.Addr().String() + "/", "//" + trap.Addr().String(), "https://" + trap.Addr().String() + "/"} {
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", to)
				w.Header().Set("Refresh", "0; url="+to)
				w.WriteHeader(status)
			}))
			got := NewSender(onLoopback(t)).Post(context.Background(), receiver.URL, nil, []byte("x"))
			receiver.Close()
			if got.Status != status || got.Err != "" {
				t.Errorf("%d to %s: %+v", status, to, got)
			}
		}
	}
	if n := accepts.Load(); n != 0 {
		t.Errorf("the redirects' target had %d connections", n)
	}
}

// TestTheEnvironmentsProxyIsNotUsed checks that the transport has no proxy function. A test cannot set the environment's proxy:
// net/http reads it once in a process.
func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	if tr := NewSender(onLoopback(t)).transport(&attempt{}); tr.Proxy != nil || tr.OnProxyConnectResponse != nil {
		t.Error("the transport uses a proxy")
	}
}

func TestAnAttemptDialsOnce(t *testing.T) {
	l, accepts := counting(t)
	u, err := onLoopback(t).parse("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a := &attempt{sender: NewSender(onLoopback(t)), url: u}
	c, err := a.dial(context.Background(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if again, err := a.dial(context.Background(), "tcp", u.Host); !errors.Is(err, errAgain) || again != nil {
		t.Errorf("%v, %v, %d connections", again, err, accepts.Load())
	}
}

func TestHostileURLsAreRefusedBeforeALookup(t *testing.T) {
	resolver := &answers{list: [][]string{{"93.184.216.34"}}}
	s, home := homebound(NewGuard(nil), resolver)
	for _, c := range hostileURLs {
		if got := s.Post(context.Background(), c.url, nil, nil); got.Err != FailRefused || got.Status != 0 {
			t.Errorf("%.80q: %+v", c.url, got)
		}
	}
	if len(resolver.names) != 0 || len(home.permitted) != 0 {
		t.Errorf("looked up %q, permitted %q", resolver.names, home.permitted)
	}
}

func TestANameWithoutAddressIsADNSFailure(t *testing.T) {
	for name, r := range map[string]Resolver{
		"unknown": &answers{err: &net.DNSError{Err: "no such host", IsNotFound: true}}, "empty": &answers{list: [][]string{{}}}, "slow": hanging{},
	} {
		s, _ := homebound(NewGuard(nil), r)
		s.connect = 50 * time.Millisecond
		if got := s.Post(context.Background(), "https://hook.example.com/", nil, nil); got.Err != FailDNS || got.Took > time.Second {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// hanging is a resolver that never answers.
type hanging struct{}

func (hanging) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
