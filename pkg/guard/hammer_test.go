package guard_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"latchkey/pkg/authn"
	"latchkey/pkg/boot"
	"latchkey/pkg/guard"
	"latchkey/pkg/id"
	"latchkey/pkg/org"
	"latchkey/pkg/servicetest"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// The processes of the hammer have a fast clock: a minute takes three seconds. It begins shortly before midnight.
const (
	speed  = 20
	window = time.Minute / speed
)

var hammerBegins = time.Date(2026, 11, 24, 23, 57, 0, 0, time.UTC)

// flow is the traffic of one key.
type flow struct {
	name, limits string
	perMinute    float64 // requests of all processes in a minute of their clock
	waves        bool    // each second minute has five times as many requests
	most         int     // how many requests may be let through in a minute
	mostADay     int     // the same for a day; 0: any number

	key string
}

// process describes one process of the hammer. The environment variable HAMMER has its fields.
type process struct {
	table, endpoint string
	begin           time.Time     // when all processes begin
	minutes         int           // how long it runs
	share           float64       // its part of the traffic
	late            time.Duration // how late its clock is
	faults          float64       // the part of its calls that fail
}

func TestMain(m *testing.M) {
	if os.Getenv("HAMMER") != "" {
		hammer()
		return
	}
	servicetest.Main(m)
}

// hammer runs a process that sends requests through door B. It prints a line for each request: the number of its flow, 1 if it was let
// through, and the minute that it was charged to.
func hammer() {
	var p process
	var begin int64
	flows := strings.Split(os.Getenv("HAMMER_FLOWS"), "\n")
	_, err := fmt.Sscan(os.Getenv("HAMMER"), &p.table, &p.endpoint, &begin, &p.minutes, &p.share, &p.late, &p.faults)
	if err != nil {
		panic(err)
	}
	p.begin = time.UnixMilli(begin)
	db := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &p.endpoint, Retryer: boot.Retryer(), HTTPClient: &http.Client{Transport: failing{p.faults}},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
	checks := authn.New(store.New(db, p.table), nil)
	checks.Now = func() time.Time { return hammerBegins.Add(speed*time.Since(p.begin) - p.late) }
	door := guard.On(checks)
	time.Sleep(time.Until(p.begin))
	var all sync.WaitGroup
	for n, text := range flows {
		all.Go(func() {
			var f flow
			if _, err := fmt.Sscan(text, &f.key, &f.perMinute, &f.waves); err != nil {
				panic(err)
			}
			end := p.begin.Add(time.Duration(p.minutes) * window)
			for next := time.Now(); ; {
				rate := f.perMinute * p.share
				if f.waves && time.Since(p.begin)/window%2 == 1 {
					rate *= 5
				}
				next = next.Add(time.Duration(rand.ExpFloat64() / rate * float64(window)))
				if !next.Before(end) {
					return
				}
				time.Sleep(time.Until(next))
				all.Go(func() { fmt.Println(n, send(door, f.key, checks.Now)) })
			}
		})
	}
	all.Wait()
}

// unclear replaces the minute when the process was stopped for so long that it does not know the minute.
const unclear = -1

// send sends one request. It returns two words: 1 when the request was let through, 0 when it was over its limits, or the status; and
// the number of the minute.
func send(door *guard.Guard, key string, now func() time.Time) string {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	begun := now().Unix()
	door.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	at := now().Unix()
	minute := at / 60
	_, left, _ := strings.Cut(w.Header().Get("RateLimit"), `"minute";r=`)
	_, left, _ = strings.Cut(left, ";t=")
	left, _, _ = strings.Cut(left, ",")
	if seconds, err := strconv.ParseInt(left, 10, 64); err == nil {
		minute = int64(math.Round(float64(at+seconds)/60)) - 1 // the minute that ends at that time
		if at-begun > 25 {
			minute = unclear
		}
	}
	result := map[int]string{http.StatusOK: "1", http.StatusTooManyRequests: "0"}[w.Code]
	if result == "" {
		result = strconv.Itoa(w.Code)
	}
	return result + " " + strconv.FormatInt(minute, 10)
}

// failing is a transport on which some calls fail: before they arrive, or after they were done.
type failing struct{ rate float64 }

func (f failing) RoundTrip(r *http.Request) (*http.Response, error) {
	fails, before := rand.Float64() < f.rate, rand.IntN(2) == 0
	if fails && before {
		return nil, errors.New("lost on its way")
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && fails {
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return nil, errors.New("the answer is lost")
	}
	return answer, err
}

// tally counts the printed lines of one flow, by minute.
type tally struct {
	passed, all map[int64]int
	failed      int // answers 503: a lease took too long, but may have been charged
}

// trial is a run of some processes.
type trial struct {
	*storetest.Table
	org   id.Org
	flows []flow
	keys  []id.Key

	mu      sync.Mutex
	tallies []tally
	others  map[string]int // other statuses, which no check may answer
}

// newTrial creates a table, an org and a key for each flow.
func newTrial(t *testing.T, flows ...flow) *trial {
	t.Helper()
	h := &trial{Table: storetest.New(t), flows: flows, others: map[string]int{}}
	ada := h.NewUser(t, "ada@example.com")
	h.org = h.NewOrg(t, ada)
	for i, f := range flows {
		made, err := h.CreateKey(context.Background(), store.Actor{User: ada, May: []org.Role{org.Admin}}, h.org,
			store.NewKey{Prefix: "lk", Carried: store.Carried{Limits: f.limits}}, store.Once[store.MintedKey]{})
		if err != nil {
			t.Fatal(err)
		}
		h.flows[i].key = made.Made.Minted.Key.Reveal()
		h.keys = append(h.keys, made.Made.ID)
		h.tallies = append(h.tallies, tally{passed: map[int64]int{}, all: map[int64]int{}})
	}
	return h
}

// start starts a process. It counts the lines of the process until the process ends or is killed.
func (h *trial) start(t *testing.T, p process, ended *sync.WaitGroup) *os.Process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	var flows []string
	for _, f := range h.flows {
		flows = append(flows, fmt.Sprint(f.key, " ", f.perMinute, " ", f.waves))
	}
	cmd.Env = append(os.Environ(), "HAMMER_FLOWS="+strings.Join(flows, "\n"), "HAMMER="+fmt.Sprint(h.Name, " ", *h.DB.Options().BaseEndpoint, " ",
		p.begin.UnixMilli(), " ", p.minutes, " ", p.share, " ", int64(p.late), " ", p.faults))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			h.count(lines.Text())
		}
		_ = cmd.Wait() // an error is expected: the process may have been killed
	})
	return cmd.Process
}

// count counts one printed line of a process.
func (h *trial) count(line string) {
	var n int
	var result string
	var minute int64
	if _, err := fmt.Sscan(line, &n, &result, &minute); err != nil {
		return // a process was killed while it wrote the line
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tallies[n].all[minute]++
	switch result {
	case "1":
		h.tallies[n].passed[minute]++
	case "0":
	case "503":
		h.tallies[n].failed++
	default:
		h.others[result]++
	}
}

// shares returns the parts of the traffic for each process. They get smaller: the first process has most of it.
func shares(processes int) (all []float64) {
	sum := 0.0
	for i := range processes {
		sum += math.Pow(float64(i+1), -1.2)
	}
	for i := range processes {
		all = append(all, math.Pow(float64(i+1), -1.2)/sum)
	}
	return all
}

// neverOver fails when a window let through more requests than its limit.
func (h *trial) neverOver(t *testing.T) {
	t.Helper()
	for i, f := range h.flows {
		days := map[int64]int{}
		for minute, n := range h.tallies[i].passed {
			if minute == unclear {
				continue
			}
			if days[minute/(24*60)] += n; n > f.most {
				t.Errorf("%s: %d let through in a minute", f.name, n)
			}
		}
		for _, n := range days {
			if f.mostADay != 0 && n > f.mostADay {
				t.Errorf("%s: %d let through in a day", f.name, n)
			}
		}
	}
}

// processes returns the number of processes. `make hammer` sets it, and runs nothing else at the same time: then alone is true. A lease
// must come within half a second, which is ten seconds on the clock of these processes.
func processes() (n int, alone bool) {
	if n, err := strconv.Atoi(os.Getenv("HAMMER_PROCESSES")); err == nil {
		return n, true
	}
	return 8, false
}

// TestProcessesNeverPassALimit: at any traffic. If alone, they also use nearly the whole limit. The usage of each day is correct.
func TestProcessesNeverPassALimit(t *testing.T) {
	t.Parallel()
	const minutes = 5
	h := newTrial(t,
		flow{name: "in waves", limits: "60/m", perMinute: 36, waves: true, most: 60},
		flow{name: "a tenth of the limit", limits: "600/m", perMinute: 60, most: 600},
		flow{name: "the limit exactly", limits: "60/m", perMinute: 60, most: 60},
		flow{name: "six times the limit", limits: "60/m 100000/M", perMinute: 360, most: 60},
		flow{name: "a day that ends first", limits: "60/m 100/d", perMinute: 180, most: 60, mostADay: 100},
	)
	begin := time.Now().Add(time.Second)
	var ended sync.WaitGroup
	count, alone := processes()
	for _, share := range shares(count) {
		h.start(t, process{begin: begin, minutes: minutes, share: share}, &ended)
	}
	ended.Wait()
	h.neverOver(t)
	for i, f := range h.flows {
		passed, could, sent, left := 0, 0, 0, map[int64]int{}
		first := hammerBegins.Unix() / 60
		for minute := first; minute < first+minutes; minute++ {
			n := min(h.tallies[i].all[minute], f.most)
			if day := minute / (24 * 60); f.mostADay != 0 {
				n = min(n, f.mostADay-left[day])
				left[day] += n
			}
			could += n
			sent += h.tallies[i].all[minute]
			passed += h.tallies[i].passed[minute]
		}
		failed := h.tallies[i].failed
		lost := failed * f.most / 8 // upper bound: a lease is at most an eighth of the limit
		t.Logf("%s: %d let through of %d that could be, and %d of %d failed", f.name, passed, could, failed, sent)
		if alone && (20*(passed+lost) < 19*could || 5*failed > sent) {
			t.Errorf("%s: too few", f.name)
		}
		h.usageHolds(t, i, 0)
	}
	if len(h.others) > 0 {
		t.Errorf("other answers: %v", h.others)
	}
}

// usageHolds fails unless, for each day, the requests let through are between the two numbers of the key's usage. unprinted is how many
// requests the processes may have let through without a printed line.
func (h *trial) usageHolds(t *testing.T, i, unprinted int) {
	t.Helper()
	truth := map[string]int64{}
	for minute, n := range h.tallies[i].passed {
		truth[time.Unix(minute*60, 0).UTC().Format(time.DateOnly)] += int64(n)
	}
	doubt := int64(h.tallies[i].passed[unclear] + unprinted)
	found, _, err := h.OrgUsage(context.Background(), store.Actor{Service: "billing"}, h.org, hammerBegins.Format("2006-01"), store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	reported := int64(0)
	for _, u := range found {
		if u.Key != h.keys[i] {
			continue
		}
		is := truth[u.Date]
		if u.Requests > is+doubt || is > u.AtMost {
			t.Errorf("%s: %+v, and %d were let through", h.flows[i].name, u, is)
		}
		reported += u.Requests
		delete(truth, u.Date)
	}
	delete(truth, time.Unix(unclear*60, 0).UTC().Format(time.DateOnly))
	if len(truth) > 0 || reported == 0 {
		t.Errorf("%s: %d reported, and no row of %v", h.flows[i].name, reported, truth)
	}
}

// TestFaultsOfProcessesPassNoLimit: processes are killed and stopped, their clocks differ, and their calls fail.
func TestFaultsOfProcessesPassNoLimit(t *testing.T) {
	t.Parallel()
	const minutes = 5
	h := newTrial(t, flow{name: "in waves", limits: "60/m 200/d", perMinute: 60, waves: true, most: 60, mostADay: 200},
		flow{name: "six times the limit", limits: "60/m", perMinute: 360, most: 60})
	begin := time.Now().Add(time.Second)
	var ended sync.WaitGroup
	count, _ := processes()
	run := func(i int) *os.Process {
		return h.start(t, process{
			begin: begin, minutes: minutes, share: 1 / float64(count), late: time.Duration(i%3) * 20 * time.Second, faults: 0.1,
		}, &ended)
	}
	kills := 0
	var running []*os.Process
	for i := range count {
		running = append(running, run(i))
	}
	for end := begin.Add(minutes * window); time.Now().Before(end); {
		time.Sleep(window / 4)
		i := rand.IntN(len(running))
		if rand.IntN(2) == 0 {
			_ = running[i].Kill() // it may have ended already
			kills++
			running[i] = run(i)
			continue
		}
		stopped := running[i]
		_ = stopped.Signal(syscall.SIGSTOP)
		ended.Go(func() {
			time.Sleep(window * 5 / 4) // longer than a minute of the clock
			_ = stopped.Signal(syscall.SIGCONT)
		})
	}
	ended.Wait()
	h.neverOver(t)
	sent, passed, failed := 0, 0, 0
	for i, all := range h.tallies {
		failed += all.failed
		for minute, n := range all.all {
			sent += n
			passed += all.passed[minute]
		}
		h.usageHolds(t, i, 10*kills)
	}
	if t.Logf("%d let through of %d, %d failed", passed, sent, failed); passed < 100 || failed == 0 || len(h.others) > 0 {
		t.Errorf("%d let through of %d, %d failed; other answers: %v", passed, sent, failed, h.others)
	}
}
