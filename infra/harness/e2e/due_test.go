package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/local/stack"
)

// lostWork makes four rows overdue that only the sweep can find: a link that expires, a key that expires soon, an event
// that the stream lost, and a delivery that the queue lost. It runs the sweep and checks the webhooks.
func lostWork(t *testing.T, s *stack.Stack, tg *target) {
	past := map[string]types.AttributeValue{":past": millis(time.Now().Add(-time.Hour))}
	c, lost := tg.server(t), tg.server(t) // the stream loses an event of the second
	hook := c.receiver(t, nil, "link.expired", "key.expiring", "link.revoked")

	link, _ := c.link(t, "u")
	setRow(t, s, rowKey{"LINKS#" + c.appID, "LINK#" + link}, "SET expiresAt = :past, dueAt = :past", past)
	key, _ := c.owner.key(t, c.org, `{"expiresIn":2592000}`)
	setRow(t, s, rowKey{"USED#" + c.org, "KEY#" + key}, "SET dueAt = :past", past)

	// The stream lost the event: its row looks as if it had never been fanned out.
	event := lost.revokedLink(t, s)
	row := rowKey{"EVTS#" + lost.appID, event}
	within(t, "the event fanned out to no endpoint", func() bool { return getRow(t, s, row)["fannedAt"] != nil })
	late, off := lost.receiver(t, nil, "link.revoked"), lost.receiver(t, nil, "link.revoked")
	lost.ok(t, "/webhook_endpoint/update", members{"endpointId": off.endpoint, "enabled": false})
	// The event becomes due only now, after the endpoints exist: the sweep also runs by its schedule.
	unread := map[string]types.AttributeValue{":past": past[":past"], ":due": text("DUE#event#0")}
	setRow(t, s, row, "SET due = :due, dueAt = :past REMOVE fannedAt, endpoints", unread)

	// The queue lost the delivery: its row looks as if it had not been sent, so its receiver gets it a second time.
	again := c.receiver(t, nil, "link.revoked")
	waiting := c.revokedLink(t, s)
	c.delivered(t, again.endpoint, waiting)
	unqueued := map[string]types.AttributeValue{":past": past[":past"], ":due": text("DUE#delivery#0"), ":pending": text("pending")}
	setRow(t, s, rowKey{"DLV#" + again.endpoint, waiting}, "SET #status = :pending, nextAttemptAt = :past, due = :due, dueAt = :past", unqueued)

	runScheduled(t, s, "SweepFunction")
	hook.one(t, "link.expired", link)
	hook.one(t, "key.expiring", key)
	if got := late.one(t, "link.revoked", "").ID; got != event {
		t.Errorf("the late receiver got %s, want %s", got, event)
	}
	if held := lost.deliveries(t, off.endpoint, "held"); len(held) != 1 {
		t.Errorf("held for the disabled endpoint: %v", held)
	}
	within(t, "the delivery again", func() bool { return len(again.about("link.revoked", "")) == 2 })
	sameIDs(t, "the receiver of both", again)
}

// revokedLink causes a link.revoked event and returns the event's id.
func (c *server) revokedLink(t *testing.T, s *stack.Stack) string {
	t.Helper()
	made, failed := c.insist(t, c.call(t, "/link/create", members{"clientUserId": "u"}), http.StatusCreated)
	_, err := c.insist(t, c.call(t, "/link/revoke", members{"linkId": made.str("id")}), http.StatusOK)
	if err := errors.Join(failed, err); err != nil {
		t.Fatal(err)
	}
	return newestIn(t, s, "EVTS#"+c.appID)
}

// expiredMakeRoom fills an org's list of active keys up to the limit with expired keys, and makes a new key.
func expiredMakeRoom(t *testing.T, s *stack.Stack, tg *target) {
	ada := tg.person(t, "ada")
	org := ada.org(t)
	live := map[string]types.AttributeValue{}
	for n := range 200 { // the limit
		live[fmt.Sprintf("key_%026d", n)] = millis(time.Now().Add(-time.Hour))
	}
	setRow(t, s, rowKey{"KEYS#" + org, "META"}, "SET live = :live", map[string]types.AttributeValue{":live": &types.AttributeValueMemberM{Value: live}})
	ada.key(t, org, `{}`)
}

// emails changes a user's email address. Then a later token gives the same address to another user.
func emails(t *testing.T, s *stack.Stack, tg *target) {
	sub, first, second := "sub-"+tg.run, "first-"+tg.run+"@example.com", "second-"+tg.run+"@example.com"
	signIn := func(sub, email string) {
		t.Helper()
		time.Sleep(time.Second) // the newer token must have a later time, which is in whole seconds
		token, err := s.Token(t.Context(), stack.User, sub, email, "Ann")
		if err != nil {
			t.Fatal(err)
		}
		(&person{tg, email, token}).want(t, "GET", "/v1/orgs", "", 200, "")
	}
	ada := tg.person(t, "ada")
	base := "/v1/orgs/" + ada.org(t) + "/members"
	// invite invites an address, and checks the answer.
	invite := func(email string, status int, code string) {
		t.Helper()
		ada.want(t, "POST", base, `{"email":"`+email+`"}`, status, code)
	}
	signIn(sub, first)
	signIn(sub, second)
	invite(first, 422, "user_not_found")
	invite(second, 201, "")
	signIn("other-"+sub, second)
	invite(second, 201, "") // the address now belongs to another user
	shown := slices.DeleteFunc(ada.want(t, "GET", base, "", 200, "").list("members"), func(m map[string]any) bool { return m["email"] != second })
	if len(shown) != 1 {
		t.Errorf("%s is shown at %v", second, shown)
	}
}
