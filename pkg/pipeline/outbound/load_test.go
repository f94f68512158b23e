package outbound

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMemoryStaysFlatUnderHostileAnswers makes a hundred attempts at each of the worst receivers. The live heap, the memory
// taken from the system, the allocations of an attempt and the number of goroutines stay small.
func TestMemoryStaysFlatUnderHostileAnswers(t *testing.T) {
	var sent atomic.Int64
	all := hostileReceivers(&sent)
	s := quick(t)
	for _, name := range []string{"10 MB", "endless", "gzip bomb", "one long header", "many headers", "endless 103"} {
		to := raw(t, all[name].speak)
		const bursts, attempts = 10, 10 // attempts of a burst
		burst := func() {
			var wg sync.WaitGroup
			for range attempts {
				wg.Go(func() { s.Post(context.Background(), to, nil, nil) })
			}
			wg.Wait()
			sent.Store(0) // a receiver stops at the limit of flood, so the count begins again
		}
		burst() // the first burst makes the allocations that happen once
		before, goroutinesBefore := settled()
		for range bursts {
			burst()
		}
		after, goroutinesAfter := settled()
		grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		taken := int64(after.Sys) - int64(before.Sys)
		each := (after.TotalAlloc - before.TotalAlloc) / (bursts * attempts)
		t.Logf("%s: heap %+d KB, from the system %+d KB, %d KB allocated an attempt", name, grown>>10, taken>>10, each>>10)
		if grown > 1<<20 || taken > 24<<20 || each > 512<<10 || goroutinesAfter > goroutinesBefore+5 {
			t.Errorf("%s: heap %+d, system %+d, %d an attempt, goroutines %d then %d",
				name, grown, taken, each, goroutinesBefore, goroutinesAfter)
		}
	}
}

// settled returns the memory after a collection, once the receivers' goroutines have noticed the
// closed connections.
func settled() (m runtime.MemStats, goroutines int) {
	time.Sleep(100 * time.Millisecond)
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m, runtime.NumGoroutine()
}

// TestHostileReceiversDoNotSlowOthers compares the median time of a healthy receiver, without and with 30 slow attempts at the
// same time.
func TestHostileReceiversDoNotSlowOthers(t *testing.T) {
	healthy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer healthy.Close()
	s := NewSender(onLoopback(t), WithTimeouts(5*time.Second, time.Second))
	median := func() time.Duration {
		const posts = 50
		var took []time.Duration
		for range posts {
			r := s.Post(context.Background(), healthy.URL, nil, nil)
			if r.Status != 200 {
				t.Fatalf("%+v", r)
			}
			took = append(took, r.Took)
		}
		slices.Sort(took)
		return took[posts/2]
	}
	idle := median()
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	slow := []string{raw(t, silent), raw(t, drip(ok+"A: ", 50*time.Millisecond)), strings.Replace(raw(t, silent), "http:", "https:", 1)}
	for i := range 30 {
		wg.Go(func() {
			for ctx.Err() == nil {
				s.Post(ctx, slow[i%len(slow)], nil, nil)
			}
		})
	}
	time.Sleep(100 * time.Millisecond) // all 30 attempts are under way
	among := median()
	stop()
	wg.Wait()
	t.Logf("median of a healthy receiver: %v without others, %v among 30 hostile ones", idle, among)
	if among > 10*idle+50*time.Millisecond {
		t.Errorf("median %v without others, %v among hostile ones", idle, among)
	}
}

func BenchmarkPost(b *testing.B) {
	healthy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer healthy.Close()
	allow, _ := ParseCIDRs([]string{"127.0.0.0/8"})
	s := NewSender(NewGuard(allow))
	b.ReportAllocs()
	for b.Loop() {
		if r := s.Post(context.Background(), healthy.URL, nil, nil); r.Status != 200 {
			b.Fatal(r)
		}
	}
}
