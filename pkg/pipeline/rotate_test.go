package pipeline_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/pkg/pipeline"
	"latchkey/pkg/pipeline/signing"
	"latchkey/pkg/servicetest"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

var ctx = context.Background()

const (
	day   = 24 * time.Hour
	every = 90 * day // how long a key is active before the next key is created
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	servicetest.Main(m)
}

var errFault = errors.New("KMS is down")

// observed is the real KMS of the local stack. It counts its calls, and a test can make them fail. It is
// safe for concurrent use.
type observed struct {
	mu     sync.Mutex
	real   *signing.Keys
	calls  []string               // operations
	faults map[string]int         // by operation: how many of the next calls fail
	lost   map[string]int         // by operation: how many of the next calls are done but return an error
	off    sync.Map               // ARNs of disabled keys
	hides  func(arn string) bool  // for these keys KMS answers as if they did not exist; nil: for none
	before func(operation string) // called before each call; nil: not used
	after  func(operation string) // called after each call without a fault; nil: not used
}

// call records a call. It returns errFault if the test lets this call fail.
func (o *observed) call(operation string) error {
	o.mu.Lock()
	o.calls = append(o.calls, operation)
	left := o.faults[operation]
	if left > 0 {
		o.faults[operation]--
	}
	before := o.before
	o.mu.Unlock()
	if before != nil {
		before(operation)
	}
	if left != 0 {
		return errFault
	}
	return nil
}

// finish returns the result of a call that was done: err, or errFault when a test loses the answer.
func (o *observed) finish(operation string, err error) error {
	if o.after != nil {
		o.after(operation)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost[operation] > 0 {
		o.lost[operation]--
		return errFault
	}
	return err
}

func (o *observed) Public(ctx context.Context, arn string) (webhook.JWK, error) {
	if err := o.call("Public"); err != nil {
		return webhook.JWK{}, err
	}
	// KMS may refuse to show a disabled key (DisabledException). The local KMS never does.
	if _, disabled := o.off.Load(arn); disabled {
		return webhook.JWK{}, errFault
	}
	if o.hides != nil && o.hides(arn) {
		return webhook.JWK{}, webhook.ErrNoKey
	}
	jwk, err := o.real.Public(ctx, arn)
	return jwk, o.finish("Public", err)
}

func (o *observed) Create(ctx context.Context) (string, error) {
	if err := o.call("Create"); err != nil {
		return "", err
	}
	arn, err := o.real.Create(ctx)
	return arn, o.finish("Create", err)
}

func (o *observed) Disable(ctx context.Context, arn string) error {
	if err := o.call("Disable"); err != nil {
		return err
	}
	if o.hides != nil && o.hides(arn) {
		return webhook.ErrNoKey
	}
	o.off.Store(arn, true)
	return o.finish("Disable", o.real.Disable(ctx, arn))
}

// count returns how often an operation was called.
func (o *observed) count(operation string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, c := range o.calls {
		if c == operation {
			n++
		}
	}
	return n
}

// world is a table, a KMS and a clock.
type world struct {
	*storetest.Table
	kms      *observed
	rotation *pipeline.Rotation
	mu       sync.Mutex
	now      time.Time
	begun    time.Time // the first time of the clock
}

// newWorld returns a world with only the template's key, which has no row yet.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		Table: storetest.New(t), kms: &observed{real: signing.New(servicetest.KMS(t), "test"), faults: map[string]int{}, lost: map[string]int{}},
		begun: time.UnixMilli(1_800_000_000_000),
	}
	w.now = w.begun
	w.Now = func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now
	}
	first, err := w.kms.real.Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.rotation = &pipeline.Rotation{Store: w.Store, KMS: w.kms, FirstARN: first, Every: every}
	return w
}

// setTime sets the clock to a time after the beginning.
func (w *world) setTime(after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.begun.Add(after)
}

// rotate runs the rotation once, and fails the test on an error.
func (w *world) rotate(t *testing.T) {
	t.Helper()
	if err := w.rotation.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// keys returns the table's keys, oldest first.
func (w *world) keys(t *testing.T) []webhook.SigningKey {
	t.Helper()
	keys, err := w.VerificationKeys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(keys, func(a, b webhook.SigningKey) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ActivatedAt, b.ActivatedAt))
	})
	return keys
}

// states returns the states of all keys, oldest first: "retired (disabled), active".
func (w *world) states(t *testing.T) string {
	t.Helper()
	var out []string
	for _, k := range w.keys(t) {
		s := string(k.State)
		if k.DisabledAt != 0 {
			s += " (disabled)"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// wantStates fails unless the keys have these states and the table agrees with them. A key that was created but not registered
// (keys.Made) is allowed only if when has the word fault.
func (w *world) wantStates(t *testing.T, when, states string) {
	t.Helper()
	if got := w.states(t); got != states {
		t.Errorf("%s: %s, want %s", when, got, states)
	}
	keys, err := w.SigningKeys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if active, ok := keys.Active(); ok != strings.Contains(states, "active") || ok && active.ARN == "" {
		t.Errorf("%s: the row STATE names %q as active, %v", when, keys.ActiveKid, ok)
	}
	if keys.Made != "" && !strings.Contains(when, "fault") {
		t.Errorf("%s: %s is made and not registered", when, keys.Made)
	}
}

// TestTheLifeOfSigningKeys covers half a year. Each run is repeated at once, and the second run finds no work.
func TestTheLifeOfSigningKeys(t *testing.T) {
	w := newWorld(t)
	activeFor := every + day // how long a key is active: the next key is published after every, and replaces it a day later
	for _, c := range []struct {
		after  time.Duration
		states string
	}{
		{0, "active"},
		{15 * time.Minute, "active"},
		{every - time.Minute, "active"},
		{every, "active, next"},
		{every + day - time.Minute, "active, next"},
		{activeFor, "retired, active"},
		{activeFor + 11*time.Minute, "retired, active"},
		{activeFor + 30*day - time.Minute, "retired, active"},
		{activeFor + 30*day, "retired (disabled), active"},
		{activeFor + every - time.Minute, "retired (disabled), active"},
		{activeFor + every, "retired (disabled), active, next"},
		{2 * activeFor, "retired (disabled), retired, active"},
		{2*activeFor + 31*day, "retired (disabled), retired (disabled), active"},
	} {
		w.setTime(c.after)
		w.rotate(t)
		w.wantStates(t, c.after.String(), c.states)
		calls := w.kms.count("Create") + w.kms.count("Disable")
		w.rotate(t)
		w.wantStates(t, c.after.String()+" again", c.states)
		if again := w.kms.count("Create") + w.kms.count("Disable"); again != calls {
			t.Errorf("%s: the second run made or disabled a key", c.after)
		}
	}
	first := w.keys(t)[0]
	at := func(d time.Duration) int64 { return w.begun.Add(d).UnixMilli() }
	if first.ARN != w.rotation.FirstARN || first.CreatedAt != at(0) || first.ActivatedAt != at(0) || first.RetiredAt != at(activeFor) ||
		first.ExpiredAt != at(activeFor+10*time.Minute) || first.DisabledAt != at(activeFor+30*day) {
		t.Errorf("the first key: %+v", first)
	}
	if w.kms.count("Create") != 2 || w.kms.count("Disable") != 2 {
		t.Errorf("calls: %v", w.kms.calls)
	}
}

func TestWithoutRotationDaysAKeySignsWithoutEnd(t *testing.T) {
	w := newWorld(t)
	w.rotation.Every = 0
	for _, after := range []time.Duration{0, every, 4000 * day} {
		w.setTime(after)
		w.rotate(t)
		w.wantStates(t, after.String(), "active")
	}
}

func TestALateRunMakesOneStepAtATime(t *testing.T) {
	w := newWorld(t)
	w.rotate(t)
	w.setTime(10 * every) // also a late run must publish the next key for a day before it signs
	w.rotate(t)
	w.wantStates(t, "late", "active, next")
	w.setTime(10*every + day)
	w.rotate(t)
	w.wantStates(t, "a day later", "retired, active")
}

func TestConcurrentRunsDoEachStepOnce(t *testing.T) {
	w := newWorld(t)
	w.rotation.FirstARN = "" // so that the first key has to be made, too
	w.rotation.Sleep = func(context.Context, time.Duration) error { time.Sleep(5 * time.Millisecond); return nil }
	for i, c := range []struct {
		after  time.Duration
		states string
	}{
		{0, "active"}, {every, "active, next"}, {every + day, "retired, active"}, {every + 31*day, "retired (disabled), active"},
	} {
		w.setTime(c.after)
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for n := range errs {
			wg.Go(func() { errs[n] = w.rotation.Run(ctx) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		w.wantStates(t, fmt.Sprint(c.after), c.states)
		// The first two rounds create one key each. The last round, i = 3, disables one key.
		wantMade, wantDisabled := min(i+1, 2), max(i-2, 0)
		if made, disabled := w.kms.count("Create"), w.kms.count("Disable"); made != wantMade || disabled != wantDisabled {
			t.Errorf("%s: %d made, %d disabled", c.after, made, disabled)
		}
	}
}
