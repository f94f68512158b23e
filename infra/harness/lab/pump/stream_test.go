package pump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/template/translated"
)

// fakeDatabase is a database with several shards in its stream. A stream of DynamoDB Local has one shard for the first hours.
type fakeDatabase struct {
	mu        sync.Mutex
	shards    []fakeShard
	iterators []string // the requests for an iterator: type, shard and sequence number
	problem   string   // the error of the next call of GetRecords; "": none
}

type fakeShard struct {
	id, parent string
	records    []string // sequence numbers
	closed     bool     // the shard gets no more records
	expired    bool     // the list still has the shard, but it has no iterator any more
}

func (f *fakeDatabase) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var in struct{ ShardId, ShardIteratorType, SequenceNumber, ShardIterator string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	answer, problem := f.answer(action, in.ShardId, in.ShardIteratorType, in.SequenceNumber, in.ShardIterator)
	if problem != "" {
		w.WriteHeader(400)
		answer = map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + problem, "message": problem}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (f *fakeDatabase) answer(action, shard, kind, sequence, iterator string) (answer any, problem string) {
	switch action {
	case "DescribeTable":
		return map[string]any{"Table": map[string]any{"LatestStreamArn": "arn:stream"}}, ""
	case "DescribeStream":
		var list []any
		for _, s := range f.shards {
			entry := map[string]any{"ShardId": s.id}
			if s.parent != "" {
				entry["ParentShardId"] = s.parent
			}
			list = append(list, entry)
		}
		return map[string]any{"StreamDescription": map[string]any{"Shards": list}}, ""
	case "GetShardIterator":
		f.iterators = append(f.iterators, strings.TrimSpace(kind+" "+shard+" "+sequence))
		s := f.shard(shard)
		if s.expired {
			return nil, "ResourceNotFoundException"
		}
		return map[string]any{"ShardIterator": fmt.Sprintf("%s %d", shard, slices.Index(s.records, sequence)+1)}, ""
	}
	if f.problem != "" { // the action is GetRecords; its iterator is "shard index"
		problem, f.problem = f.problem, ""
		return nil, problem
	}
	var at int
	_, _ = fmt.Sscan(iterator, &shard, &at)
	s, out := f.shard(shard), []any{}
	for _, n := range s.records[at:] {
		keys := map[string]any{"PK": map[string]any{"S": "EVTS#" + n}}
		out = append(out, map[string]any{"eventName": "INSERT", "dynamodb": map[string]any{"SequenceNumber": n, "Keys": keys}})
	}
	next := map[string]any{"Records": out}
	if !s.closed {
		next["NextShardIterator"] = fmt.Sprintf("%s %d", shard, len(s.records))
	}
	return next, ""
}

func (f *fakeDatabase) shard(id string) fakeShard {
	return f.shards[slices.IndexFunc(f.shards, func(s fakeShard) bool { return s.id == id })]
}

func (f *fakeDatabase) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// recorder takes the place of a function, and collects the records that it gets.
type recorder struct {
	mu      sync.Mutex
	records []string                               // for each call the sequence numbers, joined with +
	answer  func(records []string) ([]byte, error) // nil: success
}

func (e *recorder) invoke(_ context.Context, _ string, event []byte) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var in struct {
		Records []struct {
			Dynamodb struct{ SequenceNumber string }
		}
	}
	if err := json.Unmarshal(event, &in); err != nil {
		return nil, err
	}
	var batch []string
	for _, r := range in.Records {
		batch = append(batch, r.Dynamodb.SequenceNumber)
	}
	e.records = append(e.records, strings.Join(batch, "+"))
	if e.answer != nil {
		return e.answer(batch)
	}
	return []byte("{}"), nil
}

func (e *recorder) calls() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.records)
}

// run runs a pump until stop is called.
func run(t *testing.T, f *fakeDatabase, e *recorder, source translated.EventSource, dir string) (s *Stream, stop func()) {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	source.Name, source.Table = "Feed", "rows"
	s, err := NewStream(t.Context(), StreamOptions{
		Source: source, Dir: dir, Database: server.URL, Invoke: e.invoke,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return s, stop
}

func expect(t *testing.T, e *recorder, want ...string) {
	t.Helper()
	for limit := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got := e.calls()
		if slices.Equal(got, want) {
			return
		}
		if len(got) > len(want) || time.Now().After(limit) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestAChildShardIsReadAfterItsParent(t *testing.T) {
	f, e := &fakeDatabase{shards: []fakeShard{{id: "child", parent: "parent", records: []string{"3"}}, {id: "parent", parent: "long-gone", records: []string{"1", "2"}}}}, &recorder{}
	dir := t.TempDir()
	_, stop := run(t, f, e, translated.EventSource{BatchSize: 1}, dir)
	expect(t, e, "1", "2")
	time.Sleep(100 * time.Millisecond)
	expect(t, e, "1", "2") // not the child: the parent may get more records
	f.change(func() { f.shards[1].records, f.shards[1].closed = []string{"1", "2", "2b"}, true })
	expect(t, e, "1", "2", "2b", "3")
	stop()
	// After a restart only the child is read, from its last position. The parent has expired,
	// but the list still has it.
	f.change(func() { f.iterators, f.shards[1].expired, f.shards[0].records = nil, true, []string{"3", "4"} })
	run(t, f, e, translated.EventSource{BatchSize: 1}, dir)
	expect(t, e, "1", "2", "2b", "3", "4")
	if want := []string{"AFTER_SEQUENCE_NUMBER child 3"}; !slices.Equal(f.iterators, want) {
		t.Errorf("requested iterators %v", f.iterators)
	}
}

func TestAnExpiredShardCountsAsEnded(t *testing.T) {
	f := &fakeDatabase{shards: []fakeShard{{id: "parent", expired: true}, {id: "child", parent: "parent", records: []string{"1"}}}}
	e := &recorder{}
	run(t, f, e, translated.EventSource{BatchSize: 1}, t.TempDir())
	expect(t, e, "1")
}

func TestReadingContinuesAfterAnError(t *testing.T) {
	for _, problem := range []string{"ExpiredIteratorException", "InternalServerError", "TrimmedDataAccessException"} {
		f, e := &fakeDatabase{shards: []fakeShard{{id: "a", records: []string{"1"}}}}, &recorder{}
		_, stop := run(t, f, e, translated.EventSource{BatchSize: 1}, t.TempDir())
		expect(t, e, "1")
		f.change(func() { f.iterators, f.problem = nil, problem })
		next, want := []string{"1", "2"}, []string{"AFTER_SEQUENCE_NUMBER a 1"}
		if problem == "TrimmedDataAccessException" { // the stream no longer has record 1
			next, want = []string{"2"}, []string{"TRIM_HORIZON a"}
		}
		for limit := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			var iterators []string
			f.change(func() { iterators = slices.Clone(f.iterators); f.shards[0].records = next })
			if len(iterators) > 0 {
				if !slices.Equal(iterators, want) {
					t.Errorf("%s: requested iterators %v", problem, iterators)
				}
				break
			}
			if time.Now().After(limit) {
				t.Fatal(problem)
			}
		}
		expect(t, e, "1", "2")
		stop()
	}
}

func TestABatchIsSplitAtTheFailedRecord(t *testing.T) {
	four := func() *fakeDatabase {
		return &fakeDatabase{shards: []fakeShard{{id: "a", records: []string{"1", "2", "3", "4"}}}}
	}
	report := func(failedID string) []byte {
		b, _ := json.Marshal(map[string]any{"batchItemFailures": []map[string]string{{"itemIdentifier": failedID}}})
		return b
	}
	reportTwo := func(batch []string) ([]byte, error) {
		if slices.Contains(batch, "2") {
			return report("2"), nil
		}
		return []byte(`{"batchItemFailures":[]}`), nil
	}
	for name, c := range map[string]struct {
		source translated.EventSource
		answer func([]string) ([]byte, error)
		want   []string
	}{
		"reported, split":     {translated.EventSource{Partial: true, Bisect: true, Retries: 1}, reportTwo, []string{"1+2+3+4", "2+3+4", "2", "2", "3+4"}},
		"reported, not split": {translated.EventSource{Partial: true, Retries: 1}, reportTwo, []string{"1+2+3+4", "2+3+4", "2+3+4"}},
		"thrown, split": {translated.EventSource{Bisect: true, Retries: 0}, func(batch []string) ([]byte, error) {
			if slices.Contains(batch, "2") {
				return nil, errors.New("thrown")
			}
			return nil, nil
		}, []string{"1+2+3+4", "1+2", "1", "2", "3+4"}},
		"thrown, not split":   {translated.EventSource{Retries: 1}, func([]string) ([]byte, error) { return nil, errors.New("thrown") }, []string{"1+2+3+4", "1+2+3+4"}},
		"unknown id reported": {translated.EventSource{Partial: true, Retries: 1}, func([]string) ([]byte, error) { return report("9"), nil }, []string{"1+2+3+4", "1+2+3+4"}},
		"throttled more often than Retries": {translated.EventSource{Partial: true, Bisect: true}, func() func([]string) ([]byte, error) {
			calls := 0
			return func([]string) ([]byte, error) {
				if calls++; calls <= 4 {
					return nil, fmt.Errorf("busy: %w", lambda.ErrThrottled)
				}
				return nil, nil
			}
		}(), []string{"1+2+3+4", "1+2+3+4", "1+2+3+4", "1+2+3+4", "1+2+3+4"}},
		"report ignored without Partial": {translated.EventSource{Retries: 1}, reportTwo, []string{"1+2+3+4"}},
	} {
		t.Run(name, func(t *testing.T) {
			f, e := four(), &recorder{answer: c.answer}
			c.source.BatchSize = 10
			s, _ := run(t, f, e, c.source, t.TempDir())
			expect(t, e, c.want...)
			// Records that were given up do not come again.
			for limit := time.Now().Add(2 * time.Second); s.points.position("a").After != "4"; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(limit) {
					t.Fatalf("read to %+v", s.points.position("a"))
				}
			}
			f.change(func() { f.shards[0].records = append(f.shards[0].records, "5") })
			expect(t, e, append(c.want, "5")...)
		})
	}
}
