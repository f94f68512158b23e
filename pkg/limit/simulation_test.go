package limit_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/limit"
)

// traffic describes a simulation: requests at random times from a fixed seed, to processes that share one key.
type traffic struct {
	rate      float64 // requests a second
	processes int
	skewed    bool    // the first processes get most requests
	bursts    bool    // ten seconds with almost no requests, then ten with twice the rate
	lambda    bool    // as on Lambda: a process serves one request at a time, in 8 ms, and ends after five minutes without a request
	most      float64 // the limit of a minute, divided by the requests of a minute
}

func (c traffic) String() string {
	return fmt.Sprintf("%g a second, %d processes, skewed=%t, bursts=%t, lambda=%t, limit %g of the rate", c.rate, c.processes, c.skewed, c.bursts, c.lambda, c.most)
}

// allTraffic returns all combinations of rates, limits, processes and kinds of traffic, and some small limits on 1,000
// processes.
func allTraffic() (all []traffic) {
	for _, rate := range []float64{1, 10, 100, 1000} {
		for _, most := range []float64{0.5, 1, 10} {
			for _, processes := range []int{1, 8, 100, 1000} {
				for _, skewed := range []bool{false, true} {
					all = append(all, traffic{rate: rate, processes: processes, skewed: skewed, most: most})
				}
				all = append(all, traffic{rate: rate, processes: processes, skewed: true, bursts: true, most: most})
			}
			all = append(all, traffic{rate: rate, lambda: true, most: most}, traffic{rate: rate, lambda: true, bursts: true, most: most})
		}
	}
	for _, small := range []traffic{{rate: 100, most: 1. / 60}, {rate: 10, most: 1. / 6}, {rate: 2, most: 5. / 6}, {rate: 1000, most: 1. / 600}, {rate: 1000, most: 1. / 60}} {
		small.processes = 1000
		all = append(all, small)
	}
	return all
}

// process is a running process. On Lambda it serves a request until free.
type process struct {
	*limit.Limiter
	free time.Time
}

// run simulates three minutes, and returns the number of writes for each request.
func (c traffic) run(t *testing.T) (writes float64) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(26, 26))
	table, now := newRows(), &clock{at("2026-11-24 12:00:00")}
	start := func() *process {
		p := &process{Limiter: limit.New(table)}
		p.Now = now.now
		return p
	}
	all := make([]*process, c.processes)
	upTo := make([]float64, c.processes) // sums of the weights, to choose a process at random
	sum := 0.0
	for i := range all {
		all[i] = start()
		weight := 1.0
		if c.skewed {
			weight = math.Pow(float64(i+1), -1.2)
		}
		sum += weight
		upTo[i] = sum
	}
	most := max(1, int(math.Round(c.rate*60*c.most)))
	r := request("key_1", limit.Rules{limit.Minute: int64(most)}.Text())
	passed, offered, writesAt := map[int64]int{}, map[int64]int{}, map[int64]int{}
	requests := 0
	for end := now.at.Add(3 * time.Minute); ; {
		rate := c.rate
		if c.bursts {
			rate *= []float64{0.01, 1.99}[now.at.Unix()/10%2]
		}
		now.at = now.at.Add(time.Duration(rnd.ExpFloat64() / rate * float64(time.Second)))
		if !now.at.Before(end) {
			break
		}
		var p *process
		if c.lambda {
			all, p = c.lambdas(all, now.at, start)
		} else {
			x := rnd.Float64() * sum
			p = all[sort.SearchFloat64s(upTo, x)]
		}
		before, window := table.writes, now.at.Unix()/60
		s, err := p.Take(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		requests++
		offered[window]++
		if s.Violated() == nil {
			passed[window]++
		}
		writesAt[now.at.Unix()] += table.writes - before
	}
	got, allowed := 0, 0
	for w, n := range offered {
		if passed[w] > most {
			t.Errorf("%d requests passed in a window with the limit %d", passed[w], most)
		}
		got, allowed = got+passed[w], allowed+min(n, most)
	}
	if float64(got) < 0.95*float64(allowed) {
		t.Errorf("%d requests passed, and %d were allowed", got, allowed)
	}
	if float64(table.writes) > 1.02*float64(requests)+1 {
		t.Errorf("%d writes for %d requests", table.writes, requests)
	}
	for second, n := range writesAt {
		if n > 1000 { // the writes that DynamoDB accepts for a row in a second
			t.Errorf("%d writes in second %d", n, second)
		}
	}
	writes = float64(table.writes) / float64(requests)
	t.Logf("%.1f %% let through, %.4f writes a request", 100*float64(got)/float64(allowed), writes)
	return writes
}

// TestFewRequestsOfASteadyUseAreNotCounted: for keys without limits on Lambda. A process that ends loses the counts that it has not
// written. The row never counts too many requests.
func TestFewRequestsOfASteadyUseAreNotCounted(t *testing.T) {
	for _, rate := range []float64{0.1, 1, 10} {
		t.Run(fmt.Sprint(rate, " a second"), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(26, 26))
			table, now := newRows(), &clock{at("2026-11-24 00:00:00")}
			start := func() *process {
				p := &process{Limiter: limit.New(table)}
				p.Now = now.now
				return p
			}
			of, requests, end := limit.Owner{Org: "org_1", Key: "key_1"}, int64(0), now.at.Add(20*time.Hour)
			replaced := now.at
			var all []*process
			for now.at.Before(end) {
				now.at = now.at.Add(time.Duration(rnd.ExpFloat64() / rate * float64(time.Second)))
				if requests++; now.at.Sub(replaced) > 2*time.Hour { // about as often as AWS replaces processes
					all, replaced = nil, now.at
				}
				var p *process
				all, p = traffic{}.lambdas(all, now.at, start)
				p.Tally(context.Background(), of)
			}
			counted := table.counted[row{of, limit.Day, at("2026-11-24 00:00:00").Unix()}]
			t.Logf("%.2f %% not counted, %.4f writes a request", 100*(1-float64(counted)/float64(requests)), float64(table.writes)/float64(requests))
			if counted > requests || float64(counted) < 0.97*float64(requests) {
				t.Errorf("%d of %d requests are counted", counted, requests)
			}
		})
	}
}

// lambdas returns the living processes, and the one that became free last, or a new one.
func (c traffic) lambdas(all []*process, now time.Time, start func() *process) ([]*process, *process) {
	var chosen *process
	living := all[:0]
	for _, p := range all {
		if now.Sub(p.free) > 5*time.Minute {
			continue
		}
		living = append(living, p)
		if !p.free.After(now) && (chosen == nil || p.free.After(chosen.free)) {
			chosen = p
		}
	}
	if chosen == nil {
		chosen = start()
		living = append(living, chosen)
	}
	chosen.free = now.Add(8 * time.Millisecond)
	return living, chosen
}

func TestFewRequestsAreLostAtAnyTraffic(t *testing.T) {
	for _, c := range allTraffic() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

// TestTheCostOfLimitsIsDocumented: the table of infra/docs/costs.md is the result of the simulation, for limits that are not
// reached. With UPDATE_GOLDEN=1 the test writes the table.
func TestTheCostOfLimitsIsDocumented(t *testing.T) {
	const file, write = "../../infra/docs/costs.md", 0.625 // dollars for a million (infra/docs/cost)
	const begin, end = "<!-- limits: printed by the simulation -->\n", "<!-- end of limits -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatal("the page has no place for the table")
	}
	table := "| Requests a second | on Lambda | on 1 server | on 8 | on 100 |\n|---|---|---|---|---|\n"
	for _, rate := range []float64{1, 10, 100, 1000} {
		table += fmt.Sprintf("| %s |", strings.Replace(fmt.Sprint(rate), "1000", "1,000", 1))
		for _, c := range []traffic{{lambda: true}, {processes: 1}, {processes: 8}, {processes: 100}} {
			c.rate, c.most = rate, 10
			table += fmt.Sprintf(" %.3f |", write*c.run(t))
		}
		table += "\n"
	}
	want := before + begin + table + end + after
	switch {
	case want == string(text):
	case os.Getenv("UPDATE_GOLDEN") != "":
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the page differs from the simulation:\n%s", table)
	}
}
