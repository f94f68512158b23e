package parallel_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/pkg/parallel"
)

func TestNoMoreRunThanAreAllowed(t *testing.T) {
	var running, most atomic.Int64
	errEven := errors.New("even")
	got := parallel.Each(3, []int{1, 2, 3, 4, 5, 6, 7, 8}, func(i, item int) error {
		if item != i+1 {
			t.Errorf("item %d at %d", item, i)
		}
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(5 * time.Millisecond)
		running.Add(-1)
		if item%2 == 0 {
			return errEven
		}
		return nil
	})
	want := []error{nil, errEven, nil, errEven, nil, errEven, nil, errEven}
	if !slices.Equal(got, want) || most.Load() > 3 || most.Load() < 2 {
		t.Errorf("%v, %d at once", got, most.Load())
	}
	if got := parallel.Each(3, nil, func(int, int) error { return errEven }); len(got) != 0 {
		t.Errorf("%v without an item", got)
	}
}
