package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"latchkey/pkg/pipeline/signing"
	"latchkey/pkg/servicetest"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// TestAFaultMidwayLeavesNothingHalfDone makes each call of KMS fail in each phase of a key, or the calls of the table right
// after it. The keys stay unchanged, or reach the next phase completely. The next run finishes the phase.
func TestAFaultMidwayLeavesNothingHalfDone(t *testing.T) {
	phases := []struct {
		name    string
		after   time.Duration // time since the beginning
		before  string        // the states of the keys after a fault
		success string        // the states once the phase succeeded
		calls   []string      // of KMS; each fails once
	}{
		{"first", 0, "", "active", []string{"Create", "Public"}},
		{"next", every, "active", "active, next", []string{"Create", "Public"}},
		{"replace", every + day, "active, next", "retired, active", []string{"Public"}},
		{"disable", every + 31*day, "retired, active", "retired (disabled), active", []string{"Public", "Disable"}},
	}
	// The expected calls of Create after each phase. The first two phases create a key, and each needs one more call after a fault.
	// With failed writes, the second phase needs one more: a run first calls Public for the active key, so both faults come before
	// the write of the new key.
	made := map[string][]int{"KMS": {2, 4, 4, 4}, "the answer of KMS": {2, 4, 4, 4}, "writes": {2, 5, 5, 5}}
	for _, broken := range []string{"KMS", "the answer of KMS", "table", "writes"} {
		t.Run(broken, func(t *testing.T) {
			w := newWorld(t)
			w.rotation.FirstARN = ""
			var late time.Duration // the runs are late because of the faults before
			for i, phase := range phases {
				for _, call := range phase.calls {
					w.setTime(phase.after + late)
					switch broken {
					case "KMS":
						w.kms.faults[call] = 1
					case "the answer of KMS":
						w.kms.lost[call] = 1
					default:
						w.kms.after = func(operation string) {
							if operation == call { // table: no later call reaches it; writes: no later transaction does
								w.Faults.Plan(map[string]string{"writes": "TransactWriteItems"}[broken], storetest.LostBefore, -1)
							}
						}
					}
					err := w.rotation.Run(ctx)
					w.Faults.Heal()
					w.kms.after = nil
					asPlanned := err != nil && (broken == "table" || broken == "writes" || errors.Is(err, errFault))
					if !asPlanned {
						t.Fatalf("%s, %s: %v", phase.name, call, err)
					}
					w.wantStates(t, phase.name+", fault at "+call, phase.before)
					late += time.Minute // a lease that the run could not give back ends
				}
				w.setTime(phase.after + late)
				w.rotate(t)
				w.wantStates(t, phase.name, phase.success)
				if calls := w.kms.count("Create"); broken != "table" && calls != made[broken][i] {
					t.Errorf("%s: %d calls of Create", phase.name, calls)
				}
			}
		})
	}
}

// TestARunDoesAtMost20Steps: 20 due steps are too many, because a run needs one more to see that nothing is due. The next
// run does the rest.
func TestARunDoesAtMost20Steps(t *testing.T) {
	for _, c := range []struct{ due, done int }{{4, 4}, {5, 5}, {6, 6}, {19, 19}, {20, 20}, {25, 20}} {
		w := newWorld(t)
		w.rotation.Every = 0
		for i := range c.due + 1 { // each key retires the one before
			w.setTime(time.Duration(i) * time.Second)
			w.activate(t)
		}
		w.setTime(31 * day)
		err := w.rotation.Run(ctx)
		if atRest := c.due < 20; (err == nil) != atRest || w.kms.count("Disable") != c.done {
			t.Errorf("%d keys to disable: %d disabled, %v", c.due, w.kms.count("Disable"), err)
		}
		w.rotate(t)
		if w.wantStates(t, "the next run", strings.Repeat("retired (disabled), ", c.due)+"active"); w.kms.count("Disable") != c.due {
			t.Errorf("%d keys to disable: %d calls in both runs", c.due, w.kms.count("Disable"))
		}
	}
}

// activate makes a new key active without a run of the rotation.
func (w *world) activate(t *testing.T) {
	t.Helper()
	arn, err := w.kms.real.Create(ctx)
	jwk, errPublic := w.kms.real.Public(ctx, arn)
	was, errKeys := w.SigningKeys(ctx)
	lease, errLease := w.LeaseSigningKeys(ctx, time.Second)
	if err := errors.Join(err, errPublic, errKeys, errLease); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.ActivateSigningKey(ctx, lease, was, jwk, arn), w.ReleaseSigningKeys(ctx, lease)); err != nil {
		t.Fatal(err)
	}
}

// TestANewKeyWithoutEffectiveTagIsNotMadeAgain: KMS refuses to show a new key until its tag takes
// effect, which may need five minutes.
func TestANewKeyWithoutEffectiveTagIsNotMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.rotation.FirstARN = ""
	w.kms.faults["Public"] = 3
	for range 3 {
		if err := w.rotation.Run(ctx); !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		w.wantStates(t, "fault", "")
	}
	w.rotate(t)
	w.wantStates(t, "the tag is effective", "active")
	if n := w.kms.count("Create"); n != 1 {
		t.Errorf("%d keys were made", n)
	}
}

// TestARunThatLostItsLeaseChangesNothing makes a run sleep in the middle, until its lease has ended
// and another run has done the work.
func TestARunThatLostItsLeaseChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.rotate(t)
	w.setTime(every)
	slept := false
	w.kms.before = func(operation string) {
		if operation != "Create" || slept {
			return
		}
		slept = true
		w.setTime(every + time.Minute)
		w.rotate(t) // the other run
		w.wantStates(t, "the other run", "active, next")
	}
	if err := w.rotation.Run(ctx); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("got %v", err)
	}
	if !slept {
		t.Fatal("no lease was lost")
	}
	w.wantStates(t, "the run that slept", "active, next")
	w.rotate(t)
	w.wantStates(t, "afterwards", "active, next")
}

// TestARunThatIsCutOffGivesBackItsLease ends the time of a run while it makes a key. Another run can begin at once.
func TestARunThatIsCutOffGivesBackItsLease(t *testing.T) {
	w := newWorld(t)
	w.rotation.FirstARN = ""
	over, end := context.WithCancel(ctx)
	b := &bounded{next: w.Faults.Next}
	w.Faults.Next = b
	w.kms.before = func(operation string) {
		if operation == "Create" {
			b.recording.Store(true)
			end()
		}
	}
	if err := w.rotation.Run(over); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	b.recording.Store(false)
	if len(b.remaining) != 1 || b.remaining[0] > 2*time.Second {
		t.Errorf("the calls after the end may take %v, want one of at most 2 s", b.remaining)
	}
	w.kms.before = nil
	w.rotate(t) // it need not wait for the end of the lease
	w.wantStates(t, "another run", "active")
}

func TestTheLeaseOfADeadRunEnds(t *testing.T) {
	w := newWorld(t)
	if _, err := w.LeaseSigningKeys(ctx, 30*time.Second); err != nil { // the run that dies
		t.Fatal(err)
	}
	var waited time.Duration
	w.rotation.Sleep = func(_ context.Context, d time.Duration) error {
		waited += d
		w.setTime(waited)
		return nil
	}
	w.rotate(t)
	w.wantStates(t, "after the wait", "active")
	if waited < 30*time.Second || waited > 40*time.Second {
		t.Errorf("waited %s", waited)
	}
}

func TestARunThatWaitsEndsWithItsTime(t *testing.T) {
	w := newWorld(t)
	if _, err := w.LeaseSigningKeys(ctx, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := w.rotation.Run(short); !errors.Is(err, store.ErrLeaseHeld) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	w.wantStates(t, "nothing", "")
}

// TestKeysThatKMSForgotAreReplacedAtOnce gives the rotation an empty KMS at every step, as after a restart of the local one.
// The next run creates a key. In the last case the stack has created a new first key, and the run uses it.
func TestKeysThatKMSForgotAreReplacedAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		after  []time.Duration // runs before the restart
		forget time.Duration   // when KMS restarts
		states string          // after the next run
	}{
		"active":                    {[]time.Duration{0}, day, "retired, active"},
		"active and next":           {[]time.Duration{0, every}, every + time.Hour, "retired, retired, active"},
		"when a replacement is due": {[]time.Duration{0, every}, every + day, "retired, retired, active"},
		"active and a retired one":  {[]time.Duration{0, every, every + day}, every + 2*day, "retired, retired, active"},
		"a retired one to disable":  {[]time.Duration{0, every, every + day}, every + 40*day, "retired (disabled), retired, active"},
		"before the first run":      {nil, 0, "active"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, after := range c.after {
				w.setTime(after)
				w.rotate(t)
			}
			w.setTime(c.forget)
			w.kms.real = signing.New(servicetest.OwnKMS(t), "test") // an empty KMS, as after a restart
			made := w.kms.count("Create")
			w.rotate(t) // the template's key is lost too, so the run creates a key
			w.wantStates(t, "restart", c.states)
			if got := w.kms.count("Create") - made; got != 1 {
				t.Errorf("%d keys were made", got)
			}
		})
	}
	t.Run("the template's key is new", func(t *testing.T) {
		w := newWorld(t)
		w.rotate(t)
		w.kms.real = signing.New(servicetest.OwnKMS(t), "test")
		first, err := w.kms.real.Create(ctx)
		if err != nil {
			t.Fatal(err)
		}
		w.rotation.FirstARN = first
		w.setTime(time.Hour)
		w.rotate(t)
		w.wantStates(t, "restart", "retired, active")
		if keys := w.keys(t); keys[1].ARN != first || w.kms.count("Create") != 0 {
			t.Errorf("active %+v after %v", keys[1], w.kms.calls)
		}
	})
}

// TestARevokedKeyIsReplacedAtOnce revokes the active key. A new key replaces the revoked one, or the
// next key if there is one. Neither was published for a day before.
func TestARevokedKeyIsReplacedAtOnce(t *testing.T) {
	w := newWorld(t)
	for i, c := range []struct {
		after  time.Duration
		states string
	}{
		{day, "revoked (disabled), active"},
		{2 * day, "revoked (disabled), revoked (disabled), active"},
	} {
		w.setTime(c.after - time.Hour)
		w.rotate(t)
		keys, err := w.SigningKeys(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.RevokeVerificationKey(ctx, keys.ActiveKid); err != nil {
			t.Fatal(err)
		}
		w.setTime(c.after)
		w.rotate(t)
		w.wantStates(t, c.after.String(), c.states)
		if w.kms.count("Create") != i+1 {
			t.Errorf("calls: %v", w.kms.calls)
		}
	}
	w.setTime(2*day + every)
	w.rotate(t) // publishes the next key, keys[3]
	keys := w.keys(t)
	if err := w.RevokeVerificationKey(ctx, keys[2].Kid); err != nil {
		t.Fatal(err)
	}
	w.setTime(2*day + every + time.Hour)
	w.rotate(t)
	w.wantStates(t, "the next key replaces it", "revoked (disabled), revoked (disabled), revoked (disabled), active")
	if active := w.keys(t)[3]; active.Kid != keys[3].Kid || active.State != webhook.SigningActive {
		t.Errorf("active %+v, want %+v", active, keys[3])
	}
}

// TestARevocationDuringARotationIsNotUndone revokes the active key after the run has read the rows, and before it
// activates another key.
func TestARevocationDuringARotationIsNotUndone(t *testing.T) {
	w := newWorld(t)
	w.rotate(t)
	w.setTime(every)
	w.rotate(t)
	w.setTime(every + day)
	old := w.keys(t)[0].Kid
	calls := 0
	w.kms.before = func(string) {
		calls++
		if calls == 2 { // Public of the next key, after the rows were read
			if err := w.RevokeVerificationKey(ctx, old); err != nil {
				t.Error(err)
			}
		}
	}
	w.rotate(t)
	w.wantStates(t, "overtaken", "revoked (disabled), active")
}
