package storetest

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"
)

// longest is how long a test of a store may take. Each one takes some seconds.
var longest = time.Minute

// bound ends the test program, as its own time-out does, when a test takes longer than longest: a loop in it
// does not end.
func bound(t testing.TB) {
	over := time.AfterFunc(longest, func() {
		debug.SetTraceback("all")
		panic(fmt.Sprintf("%s takes longer than %s: a loop does not end", t.Name(), longest))
	})
	t.Cleanup(func() { over.Stop() })
}
