package parallel_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/pkg/parallel"
)

func TestTheNumberOfConcurrentCallsIsLimited(t *testing.T) {
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

func TestManyErrorsAreJoinedIntoAShortOne(t *testing.T) {
	errRare := errors.New("rare")
	for _, n := range []int{0, 1, 19, 20, 21, 10_000} {
		errs := []error{nil}
		for i := range n {
			errs = append(errs, fmt.Errorf("row %d: %w", i, errRare), nil)
		}
		err := parallel.Joined(errs)
		if n == 0 {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		want := min(n, 20)
		if n > 20 {
			want++
		}
		if !errors.Is(err, errRare) || len(lines) != want || lines[min(n, 20)-1] != fmt.Sprintf("row %d: rare", min(n, 20)-1) ||
			n > 20 && lines[20] != fmt.Sprintf("and %d more", n-20) {
			t.Errorf("%d: %q", n, lines)
		}
	}
}
