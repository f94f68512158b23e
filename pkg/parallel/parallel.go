// Package parallel runs several calls at the same time, up to a limit.
package parallel

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Each calls do for every item and its index, at most atOnce calls at a time. It returns the error of each call, at the
// item's index.
func Each[T any](atOnce int, items []T, do func(i int, item T) error) []error {
	errs := make([]error, len(items))
	var taken atomic.Int64 // how many items were given to workers
	Work(min(atOnce, len(items)), func() bool {
		i := int(taken.Add(1)) - 1
		if i >= len(items) {
			return false
		}
		errs[i] = do(i, items[i])
		return true
	})
	return errs
}

// Work runs atOnce workers. Every worker calls do repeatedly until do returns false. Work returns when all
// workers have ended.
func Work(atOnce int, do func() bool) {
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for do() {
			}
		})
	}
	wg.Wait()
}

// mostJoined is how many errors Joined keeps: its text is one line of a log, which Lambda cuts at 256 KB.
const mostJoined = 20

// Joined does the same as errors.Join, but keeps only the first 20 errors that are not nil, and adds the number of the others.
func Joined(errs []error) error {
	failed, end := 0, len(errs)
	for i, err := range errs {
		if err == nil {
			continue
		}
		if failed++; failed == mostJoined {
			end = i + 1
		}
	}
	joined := errors.Join(errs[:end]...)
	if failed > mostJoined {
		joined = fmt.Errorf("%w\nand %d more", joined, failed-mostJoined)
	}
	return joined
}
