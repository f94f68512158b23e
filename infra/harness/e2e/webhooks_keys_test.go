package e2e_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/local/stack"
	"latchkey/pkg/store"
	"latchkey/pkg/verify"
)

// signingKeys reads the signing keys of a stack from its table.
func signingKeys(t *testing.T, s *stack.Stack) store.SigningKeys {
	t.Helper()
	keys, err := store.New(backing.NewDynamoDBClient(s.DataPlane.DynamoDB), s.TableName).SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func verificationRow(kid string) rowKey { return rowKey{"VKEYS", "KEY#" + kid} }

// rotate makes the active key old, so that the rotation publishes the next key. It then makes the
// next key old enough to sign. It returns the kids of both keys.
func rotate(t *testing.T, s *stack.Stack) (before, after string) {
	t.Helper()
	run := func() store.SigningKeys { // runs the rotation, and returns the keys
		runScheduled(t, s, "RotateFunction")
		return signingKeys(t, s)
	}
	before = run().ActiveKid
	then := map[string]types.AttributeValue{":then": millis(time.Now().Add(-91 * 24 * time.Hour))}
	setRow(t, s, verificationRow(before), "SET activatedAt = :then", then)
	keys := run()
	next, ok := keys.Next()
	if !ok || keys.ActiveKid != before {
		t.Fatalf("90 days after its activation: %+v", keys)
	}
	if run().ActiveKid != before {
		t.Fatal("the next key signs before it was published for a day")
	}
	setRow(t, s, verificationRow(next.Kid), "SET createdAt = :then", then)
	if after = run().ActiveKid; after != next.Kid {
		t.Fatalf("a day after its publication %s signs, not %s", after, next.Kid)
	}
	return before, after
}

// rotation changes the signing key between webhooks, and then revokes the old one.
func rotation(t *testing.T, s *stack.Stack, tg *target) {
	c := tg.server(t)
	hook := c.receiver(t, nil, "link.revoked")
	send := func() arrival {
		id, _ := c.link(t, "u")
		c.ok(t, "/link/revoke", members{"linkId": id})
		return hook.one(t, "link.revoked", id)
	}
	old := send()
	before, after := rotate(t, s)
	atChange := send()                    // a running copy of the function may cache the old key for a minute
	killFunction(t, s, "DeliverFunction") // a new copy of the function reads the table
	fresh := send()
	t.Logf("signed by: before %s, in the minute of the change %s, after %s", old.kid(), atChange.kid(), fresh.kid())
	isEither := atChange.kid() == before || atChange.kid() == after
	if old.kid() != before || fresh.kid() != after || !isEither {
		t.Errorf("the key went from %s to %s", before, after)
	}
	hook.noneRefused(t)
	for name, a := range map[string]arrival{"old": old, "of the change": atChange, "new": fresh} {
		if _, err := newVerifier(t, tg, hook.endpoint).Verify(t.Context(), []byte(a.Token)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Run("TheLookupNeverCallsKMS", func(t *testing.T) { lookupWithoutKMS(t, s, tg, before, after) })
	t.Run("WebhooksOfARevokedKeyAreRefused", func(t *testing.T) { revokeOldKey(t, s, tg, hook, old, fresh) })
	if last := send(); last.kid() != after {
		t.Errorf("after the revocation of the old key, %s signs", last.kid())
	}
	hook.noneRefused(t)
	revoke(t, s, after) // revokes the active key, so the rotation must activate a third key
	killFunction(t, s, "DeliverFunction")
	if last := send(); last.kid() == after || last.kid() == before {
		t.Errorf("after the revocation of the active key, %s signs", last.kid())
	}
}

// revoke revokes a signing key in the table, as the runbook does. The rotation disables the key in KMS. If it was the
// active key, the rotation also activates another key.
func revoke(t *testing.T, s *stack.Stack, kid string) {
	t.Helper()
	setRow(t, s, verificationRow(kid), "SET #state = :revoked, revokedAt = :now",
		map[string]types.AttributeValue{":revoked": text("revoked"), ":now": millis(time.Now())})
	runScheduled(t, s, "RotateFunction")
	if row := getRow(t, s, verificationRow(kid)); row["disabledAt"] == nil {
		t.Errorf("%s is not disabled: %v", kid, row)
	}
}

// lookUp looks up a verification key, and checks the answer.
func (tg *target) lookUp(t *testing.T, kid string, status int, code string) {
	t.Helper()
	tg.want(t, call{method: "POST", path: "/webhook_verification_key/get", body: `{"kid":"` + kid + `"}`}, status, code)
}

// lookupWithoutKMS looks keys up while KMS hangs.
func lookupWithoutKMS(t *testing.T, s *stack.Stack, tg *target, before, after string) {
	if err := s.KMS.Pause(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.KMS.Resume(); err != nil {
			t.Error(err)
		}
	}()
	killFunction(t, s, "WebhookKeysFunction") // the next call gets a new copy of the function, which has no cached keys
	begun := time.Now()
	tg.lookUp(t, before, http.StatusOK, "")
	tg.lookUp(t, after, http.StatusOK, "")
	if l := tg.want(t, call{method: "GET", path: "/.well-known/jwks.json"}, 200, "").list("keys"); len(l) < 2 {
		t.Errorf("the key set: %v", l)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("three lookups took %s while KMS hangs", took)
	}
}

// revokeOldKey revokes the key that signed the old webhook, as in the runbook ("Revoking a webhook
// signing key"). From then on, a receiver must refuse the webhook.
func revokeOldKey(t *testing.T, s *stack.Stack, tg *target, hook *receiver, old, fresh arrival) {
	kid := old.kid()
	revoke(t, s, kid)
	killFunction(t, s, "WebhookKeysFunction") // its copies cache keys for a minute
	tg.lookUp(t, kid, http.StatusGone, "kid_revoked")
	_, err := newVerifier(t, tg, hook.endpoint).Verify(t.Context(), []byte(old.Token))
	var refused *verify.RefusedError
	if !errors.As(err, &refused) || refused.Reason != verify.RevokedKey {
		t.Errorf("signed by the revoked key: %v", err)
	}
	if _, err := newVerifier(t, tg, hook.endpoint).Verify(t.Context(), []byte(fresh.Token)); err != nil {
		t.Errorf("signed by the other key: %v", err)
	}
	for _, k := range tg.want(t, call{method: "GET", path: "/.well-known/jwks.json"}, 200, "").list("keys") {
		if k["kid"] == kid {
			t.Error("the revoked key is in the key set")
		}
	}
}

func killFunction(t *testing.T, s *stack.Stack, name string) {
	t.Helper()
	if err := s.Lambda.Kill(name); err != nil {
		t.Fatal(err)
	}
}

func runScheduled(t *testing.T, s *stack.Stack, function string) {
	t.Helper()
	if err := s.RunSchedule(t.Context(), function); err != nil {
		t.Fatal(err)
	}
}
