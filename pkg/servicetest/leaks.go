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

// Main runs the tests of a package, and fails when one of them has left a goroutine. It is for TestMain. It stops the services first,
// which have goroutines of their own. Connections that wait for their next request may stay, but none with an answer that was not closed.
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
		_ = s.Stop() // one that a test has stopped cannot be stopped again
	}
	return code
}
