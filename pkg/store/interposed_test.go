package store_test

import (
	"net/http"
	"strings"
	"sync"
)

// interposed lets something happen right before the first call of an operation.
type interposed struct {
	next      http.RoundTripper
	operation string
	change    func()
	once      sync.Once
}

func (i *interposed) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+i.operation) {
		first := false
		i.once.Do(func() { first = true }) // change itself calls the operation
		if first {
			i.change()
		}
	}
	return i.next.RoundTrip(r)
}
