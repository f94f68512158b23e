package storetest

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"
)

// longest bounds the time of a test of a store. A test usually takes some seconds.
var longest = time.Minute

// bound ends the test program with the stacks of all goroutines when a test takes longer than longest. The
// stacks show the loop that does not end, long before the time-out of the test program.
func bound(t testing.TB) {
	over := time.AfterFunc(longest, func() {
		debug.SetTraceback("all")
		panic(fmt.Sprintf("%s takes longer than %s: a loop does not end", t.Name(), longest))
	})
	t.Cleanup(func() { over.Stop() })
}
