// Package cause describes why a call failed, in known words only. The message of an error may contain the
// address with its query, the credential that was sent, or a part of the answer, in any encoding. So no message is kept:
// known causes have fixed words, and of any other error only the types are shown.
package cause

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// maxErrors is how many errors of a chain are examined, because the chain of a stranger's error may have no end.
const maxErrors = 32

// Of returns why a call failed: the first known cause in the chain of err, or an error that names the types in the
// chain. It returns nil for nil. errors.Is finds context.Canceled and context.DeadlineExceeded in it; the latter means any timeout.
func Of(err error) error {
	var types []string
	for rest := []error{err}; len(rest) > 0 && len(types) < maxErrors; {
		next := rest[0]
		rest = rest[1:]
		if next == nil {
			continue
		}
		if known := known(next); known != nil {
			return known
		}
		types = append(types, fmt.Sprintf("%T", next))
		switch in := next.(type) { //nolint:errorlint // this loop walks the chain
		case interface{ Unwrap() error }:
			rest = append([]error{in.Unwrap()}, rest...)
		case interface{ Unwrap() []error }:
			rest = slices.Concat(in.Unwrap(), rest)
		}
	}
	if types == nil {
		return nil
	}
	return fmt.Errorf("an error of the type %s", strings.Join(types, ", with "))
}

// constants returns errors with a constant text. As a variable, it would be in every function that links this package.
func constants() []error {
	return []error{
		context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, http.ErrSchemeMismatch,
	}
}

// known returns the cause that a single error of a chain shows, nil for an unknown error.
func known(err error) error {
	for _, constant := range constants() {
		if err == constant { //nolint:errorlint // Of walks the chain
			return constant
		}
	}
	switch e := err.(type) { //nolint:errorlint // Of walks the chain
	case syscall.Errno:
		return e
	case *net.DNSError:
		return ofName(e)
	case x509.UnknownAuthorityError:
		return x509.UnknownAuthorityError{} // without the certificate's names
	case x509.CertificateInvalidError:
		return x509.CertificateInvalidError{Reason: e.Reason}
	case x509.HostnameError:
		return errors.New("the certificate is for another name")
	case tls.RecordHeaderError:
		return errors.New("the other side does not speak TLS")
	case *json.SyntaxError:
		return fmt.Errorf("no JSON, from byte %d on", e.Offset)
	case *json.UnmarshalTypeError:
		return fmt.Errorf("a JSON value of another type, at byte %d", e.Offset)
	case interface{ HTTPStatusCode() int }: // an error of the AWS SDK
		if status := e.HTTPStatusCode(); 100 <= status && status <= 599 {
			return fmt.Errorf("the answer has status %d", status)
		}
	case interface{ Timeout() bool }:
		if e.Timeout() {
			return context.DeadlineExceeded
		}
	}
	return nil
}

// ofName returns the cause of a failed lookup of a host name. It does not show the name.
func ofName(e *net.DNSError) error {
	switch {
	case e.IsTimeout:
		return context.DeadlineExceeded
	case e.IsNotFound:
		return errors.New("there is no such host")
	default:
		return errors.New("the host's name cannot be looked up")
	}
}

// OfPanic returns the error for a recovered value: the place of the panic, and the value's type. The deferred function that recovered
// the value must call OfPanic itself. For a fault found by the Go runtime, the error has the runtime's message too, which has only types
// and numbers of the program.
func OfPanic(value any) error {
	at := reflect.TypeOf(value)
	if at.Kind() == reflect.Pointer {
		at = at.Elem()
	}
	isRuntime := at.PkgPath() == "runtime" || strings.HasPrefix(at.PkgPath(), "internal/runtime/")
	if fault, ok := value.(runtime.Error); ok && isRuntime {
		return fmt.Errorf("panic at %s: %w", panickedAt(), fault)
	}
	return fmt.Errorf("panic at %s with a value of type %T", panickedAt(), value)
}

// panickedAt returns the file and the line of the panic. OfPanic must call it.
func panickedAt() string {
	const deferred = 4 // skips runtime.Callers, panickedAt, OfPanic and the deferred function
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(deferred, callers)])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") || !more {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
	}
}
