package servicetest

import (
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// running has the services that were started.
var running struct {
	sync.Mutex
	services []*Service
}

// Main is for TestMain: it runs the tests of a package, and fails if a test has left a goroutine. First it stops the services,
// which have goroutines too. Idle connections may stay, but not connections whose last answer was not closed.
func Main(m *testing.M) {
	goleak.VerifyTestMain(tests{m}, goleak.IgnoreAnyFunction("bufio.(*Reader).Peek"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

type tests struct{ *testing.M }

// Run runs the tests, and then stops the services.
func (t tests) Run() int {
	code := t.M.Run()
	running.Lock()
	defer running.Unlock()
	for _, s := range running.services {
		_ = s.Stop() // an error means that a test has already stopped it
	}
	return code
}
