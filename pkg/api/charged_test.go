package api_test

import (
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// spent returns the amount that each budget has spent, by the partition key of the budget's row.
func (s *server) spent(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, row := range s.Rows(t) {
		if n, ok := row["spent"].(*types.AttributeValueMemberN); ok {
			out[text(row, "PK")] = n.Value
		}
	}
	return out
}

// onceCharged returns the routes that charge a budget and store their answer for a retry. other is the body of another request.
func onceCharged() map[string]struct{ path, other string } {
	app := "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints"
	return map[string]struct{ path, other string }{
		"a link": {"/link/create", `{"clientUserId":"another"}`}, "an endpoint": {"/webhook_endpoint/create", `{"url":"https://other.example.com"}`},
		"an admin's endpoint": {app, `{"url":"https://other.example.com"}`}, "a test": {"/webhook_endpoint/test", `{"endpointId":"` + string(id.NoEndpoint) + `"}`},
		"an admin's test": {app + "/{endpointId}/test", ""},
	}
}

// charging returns a world whose clock does not move, a request to a route, and the status of its success.
func charging(t *testing.T, path string) (w *world, r request, status int) {
	t.Helper()
	w = newWorld(t, newServer(t), "")
	w.connect(t)
	now := w.Now()
	w.Now = func() time.Time { return now }
	w.Limits.Budget, w.Limits.OrgBudget = store.Budget{PerSecond: 1, Burst: 20}, store.Budget{PerSecond: 1, Burst: 30}
	row, as := good()["POST "+path], w.caller("admin")
	if row.may == withAKey {
		as = w.caller("key")
	}
	return w, w.request("POST", path, as, row.body), row.status
}

// spendEverything spends the rest of both budgets.
func (w *world) spendEverything(t *testing.T) {
	t.Helper()
	w.spendAll(t, w.org, id.DefaultApp(w.org))
	for w.Deliveries().SpendOfOrg(t.Context(), w.org, 1) == nil {
	}
}

// TestAStoredAnswerIsNeverCharged: a retry gets the stored answer for free, also when the budget is empty.
func TestAStoredAnswerIsNeverCharged(t *testing.T) {
	for name, c := range onceCharged() {
		t.Run(name, func(t *testing.T) {
			w, r, status := charging(t, c.path)
			unused := w.spent(t)
			first := w.retried(t, r, status, "")
			once := w.spent(t)
			if maps.Equal(once, unused) {
				t.Error("the first request was not charged")
			}
			again := func() {
				t.Helper()
				got := w.retried(t, r, status, "")
				if got.text != first.text || got.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Idempotency-Replayed") != "" {
					t.Errorf("%s, then %s", first.text, got.text)
				}
			}
			again()
			if got := w.spent(t); !maps.Equal(got, once) {
				t.Errorf("a retry was charged: %v, then %v", once, got)
			}
			w.spendEverything(t)
			empty := w.spent(t)
			again()
			if c.other != "" {
				w.retried(t, request{as: r.as, method: r.method, path: r.path, body: c.other}, 422, problem.IdempotencyKeyReused)
			}
			w.want(t, r, 429, problem.RateLimited)
			if got := w.spent(t); !maps.Equal(got, empty) && r.as.Kind != principal.Key { // a refused API key still pays from the app's budget
				t.Errorf("a refused request was charged: %v, then %v", empty, got)
			}
		})
	}
}

// TestTheSecondTryGetsTheAnswerOfTheFirst: the first try ends, and empties the budget, after the second has looked for a stored
// answer.
func TestTheSecondTryGetsTheAnswerOfTheFirst(t *testing.T) {
	for name, c := range onceCharged() {
		t.Run(name, func(t *testing.T) {
			w, r, status := charging(t, c.path)
			var first reply
			w.Faults.Before("UpdateItem", func() {
				first = w.retried(t, r, status, "")
				w.spendEverything(t)
			})
			if got := w.retried(t, r, status, ""); got.text != first.text {
				t.Errorf("%s, then %s", first.text, got.text)
			}
		})
	}
}

// TestATestEventIsWrittenOnce for one Idempotency-Key, also when the answer to the transaction is lost. Two requests without a
// key write two events.
func TestATestEventIsWrittenOnce(t *testing.T) {
	for _, path := range []string{"/webhook_endpoint/test", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints/{endpointId}/test"} {
		w, r, status := charging(t, path)
		before := w.size(t)["EVTS test"]
		w.Faults.Plan("TransactWriteItems", storetest.Forgotten, 1)
		w.retried(t, r, status, "")
		w.retried(t, r, status, "")
		if got := w.size(t)["EVTS test"] - before; got != 1 {
			t.Errorf("%s: %d events", path, got)
		}
		w.want(t, r, status, "")
		w.want(t, r, status, "")
		if got := w.size(t)["EVTS test"] - before; got != 3 {
			t.Errorf("%s: %d events", path, got)
		}
		r.header = map[string]string{"Idempotency-Key": "short"}
		w.want(t, r, 400, problem.InvalidIdempotencyKey)
	}
}
