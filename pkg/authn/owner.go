package authn

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// CallOwner calls code of an owner, and turns its panic into an error, which has nothing of the panic's value: that may
// hold the text of a credential. A runtime error has no text of the program, so that its message is kept.
func CallOwner(call func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("panic at %s: %w", panickedAt(), v)
		default:
			err = fmt.Errorf("panic at %s with a value of type %T", panickedAt(), v)
		}
	}()
	return call()
}

// panickedAt returns the file and the line of the panic that the deferred caller recovers.
func panickedAt() string {
	const deferred = 3 // runtime.Callers, this function and the deferred one
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(deferred, callers)])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") || !more {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
	}
}
