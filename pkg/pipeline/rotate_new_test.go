package pipeline_test

import (
	"errors"
	"testing"
	"time"

	"latchkey/pkg/webhook"
)

// hideNew makes KMS answer for every key except the template's as if it did not exist, until the test calls show. For minutes after
// CreateKey, the real KMS may answer so.
func (w *world) hideNew() (show func()) {
	w.kms.hides = func(arn string) bool { return arn != w.rotation.FirstARN }
	return func() { w.kms.hides = nil }
}

// runEarly fails unless a run ends with the error that a new key is not shown yet.
func (w *world) runEarly(t *testing.T, at time.Duration) {
	t.Helper()
	w.setTime(at)
	if err := w.rotation.Run(ctx); !errors.Is(err, webhook.ErrNoKey) {
		t.Errorf("%s: %v", at, err)
	}
}

// revokeActive revokes the active key.
func (w *world) revokeActive(t *testing.T) {
	t.Helper()
	keys, err := w.SigningKeys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.RevokeVerificationKey(ctx, keys.ActiveKid); err != nil {
		t.Fatal(err)
	}
}

// TestOneKeyIsMadeWhileKMSDoesNotShowItYet: three runs do not see the new key. Without a wait each of their steps would make another
// key, which costs money and which no row names.
func TestOneKeyIsMadeWhileKMSDoesNotShowItYet(t *testing.T) {
	for name, c := range map[string]struct {
		begin          func(*testing.T, *world)
		at             time.Duration
		before, states string
	}{
		"the first key": {func(_ *testing.T, w *world) { w.rotation.FirstARN = "" }, 0, "", "active"},
		"the next key":  {func(t *testing.T, w *world) { w.rotate(t) }, every, "active", "active, next"},
		"a key in place of a revoked one": {func(t *testing.T, w *world) {
			w.rotate(t)
			w.revokeActive(t)
		}, day, "revoked", "revoked (disabled), active"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.begin(t, w)
			show := w.hideNew()
			for n := range 3 {
				w.runEarly(t, c.at+time.Duration(n)*15*time.Minute)
				w.wantStates(t, "fault", c.before)
			}
			show()
			w.rotate(t)
			if w.wantStates(t, "KMS shows the key", c.states); w.kms.count("Create") != 1 {
				t.Errorf("%d keys were made", w.kms.count("Create"))
			}
		})
	}
}

// TestAMadeKeyThatKMSHasLostIsReplaced: after an hour, a key that KMS does not show is lost.
func TestAMadeKeyThatKMSHasLostIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.rotation.FirstARN = ""
	w.hideNew()
	w.runEarly(t, 0)
	w.runEarly(t, time.Hour-time.Second)
	if n := w.kms.count("Create"); n != 1 {
		t.Errorf("%d keys were made within an hour", n)
	}
	w.runEarly(t, time.Hour)
	if n := w.kms.count("Create"); n != 2 {
		t.Errorf("%d keys were made after an hour", n)
	}
}

// TestANewKeyStaysActiveWhileKMSDoesNotShowIt: KMS has shown the key once, and then one of its computers does not know the key yet.
func TestANewKeyStaysActiveWhileKMSDoesNotShowIt(t *testing.T) {
	w := newWorld(t)
	w.rotation.FirstARN = ""
	w.rotate(t)
	show := w.hideNew()
	w.runEarly(t, time.Hour-time.Second)
	w.wantStates(t, "hidden", "active")
	show()
	w.rotate(t)
	if w.wantStates(t, "shown again", "active"); w.kms.count("Create") != 1 {
		t.Errorf("%d keys were made", w.kms.count("Create"))
	}
}

// TestANewKeyThatKMSDoesNotShowGivesWayToTheTemplates: the template's key exists already, so the rotation need not wait. So a local
// stack that is started again, with an empty KMS, signs at once.
func TestANewKeyThatKMSDoesNotShowGivesWayToTheTemplates(t *testing.T) {
	w := newWorld(t)
	first := w.rotation.FirstARN
	w.rotation.FirstARN = ""
	w.rotate(t)
	w.rotation.FirstARN = first
	w.hideNew()
	w.setTime(time.Minute)
	w.rotate(t)
	w.wantStates(t, "with the template's key", "retired, active")
}

// TestANewNextKeyIsNotDroppedWhileKMSDoesNotShowIt: the active key is revoked right after the next key was published.
func TestANewNextKeyIsNotDroppedWhileKMSDoesNotShowIt(t *testing.T) {
	w := newWorld(t)
	w.rotate(t)
	w.setTime(every)
	w.rotate(t)
	w.revokeActive(t)
	show := w.hideNew()
	w.runEarly(t, every+time.Hour-time.Second)
	w.wantStates(t, "hidden", "revoked, next")
	show()
	w.rotate(t)
	w.wantStates(t, "shown", "revoked (disabled), active")
}

// TestANewRevokedKeyIsDisabledOnceKMSShowsIt: if a key that is not shown yet counted as disabled, it could sign without end.
func TestANewRevokedKeyIsDisabledOnceKMSShowsIt(t *testing.T) {
	w := newWorld(t)
	w.rotation.FirstARN = ""
	w.rotate(t)
	w.revokeActive(t)
	hidden := w.keys(t)[0].ARN
	w.kms.hides = func(arn string) bool { return arn == hidden }
	w.runEarly(t, time.Hour-time.Second)
	w.wantStates(t, "hidden", "revoked, active")
	w.kms.hides = nil
	w.rotate(t)
	if w.wantStates(t, "shown", "revoked (disabled), active"); w.kms.count("Disable") != 2 {
		t.Errorf("%d calls of Disable", w.kms.count("Disable"))
	}
}
