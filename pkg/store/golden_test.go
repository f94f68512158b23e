package store_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/link"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
	"latchkey/pkg/servicetest"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
	"latchkey/pkg/webhook"
)

// TestDatabaseCallsMatchTheGoldenFile makes rows of every kind by every use case, and compares all calls of the database with
// testdata/calls.txt, so that a diff shows when a use case makes other calls. The clock and the
// randomness of the store are fixed, and other random values are masked. With UPDATE_GOLDEN=1 the test writes
// the file.
func TestDatabaseCallsMatchTheGoldenFile(t *testing.T) {
	c := &connected{Table: storetest.New(t), now: time.UnixMilli(1_800_000_000_000)}
	c.Now = func() time.Time { return c.now }
	c.Rand = rand.NewChaCha8([32]byte{})
	calls := &callRecorder{next: c.Faults.Next}
	c.Faults.Next = calls
	c.ada = c.NewUser(t, "ada@example.com")
	c.org = c.NewOrg(t, c.ada)
	c.app = id.DefaultApp(c.org)
	c.everything(t)
	c.everyPerson(t, calls)
	c.everyChange(t)
	c.everyAttempt(t)
	noError(t, c.RevokeKeysOf(ctx, admin(c.ada), c.org, c.everyLeaver(t))) // continues from the position
	noError(t, c.EraseUser(ctx, billing, addMember(t, c.Table, c.org, c.ada, "gone@example.com", org.Viewer)))
	golden(t, "calls.txt", strings.Join(calls.lines, ""))
}

// everyPerson signs users in, changes the org's members and names, and reads every list of the org.
func (c *connected) everyPerson(t *testing.T, calls *callRecorder) {
	t.Helper()
	eve := store.Seen{
		Issuer: "https://issuer.test", Subject: "eve", Email: "Eve@Example.com", Folded: "eve@example.com", Name: "Eve", IssuedAt: 1_800_000_000,
	}
	signIn := func(seen store.Seen) id.User {
		t.Helper()
		known, isKnown, err := c.Identity(ctx, seen.Issuer, seen.Subject)
		noError(t, err)
		u, err := c.SignIn(ctx, known, isKnown, seen)
		noError(t, err)
		return u
	}
	user := signIn(eve) // a new user, without a verified email
	eve.IssuedAt, eve.Verified, eve.Name = eve.IssuedAt+10, true, "Eve E."
	signIn(eve) // the email is verified now
	eve.AskedAt = c.Now().UnixMilli()
	signIn(eve) // the userinfo endpoint was called, and showed nothing new
	other := eve
	other.Subject, other.IssuedAt = "eve-2", eve.IssuedAt+10
	signIn(other) // a new user proves the same address
	eve.IssuedAt, eve.Email, eve.Folded = eve.IssuedAt+20, "eve2@example.com", "eve2@example.com"
	signIn(eve) // another address
	eve.IssuedAt, eve.Verified, eve.Name = eve.IssuedAt+20, false, ""
	signIn(eve) // the address is no longer verified
	noError(t, errorOf(c.StopUser(ctx, billing, c.ada)))
	noError(t, errorOf(c.ResumeUser(ctx, billing, c.ada)))
	noError(t, c.SignOutUser(ctx, billing, c.ada))
	noError(t, errorOfThree(c.OrgsLeft(ctx, c.ada)))
	noError(t, errorOfThree(c.UserBySubject(ctx, eve.Issuer, eve.Subject)))
	carol := addMember(t, c.Table, c.org, c.ada, "carol@example.com", org.Viewer)
	noError(t, errorOf(c.ChangeRole(ctx, admin(c.ada), c.org, carol, org.Admin)))
	noError(t, errorOf(c.ChangeRole(ctx, admin(carol), c.org, carol, org.Member)))
	dan := addMember(t, c.Table, c.org, c.ada, "dan@example.com", org.Admin)
	noError(t, c.RemoveMember(ctx, admin(c.ada), c.org, dan))
	noError(t, c.LeaveOrg(ctx, store.Actor{User: carol, May: anyMember}, c.org))
	noError(t, errorOf(c.ChangeOrg(ctx, admin(c.ada), c.org, named("Acme & Sons"))))
	name, begin := "The app", "lktest"
	noError(t, errorOf(c.UpdateApp(ctx, admin(c.ada), c.org, c.app, store.AppChange{Name: &name, KeysBeginWith: &begin})))
	_, _, err := c.OrgsOf(ctx, user, store.Page{})
	noError(t, err)
	for _, p := range []store.Page{{}, {Limit: 2}, {Limit: 2, After: string(id.NoKey)}} {
		const audit = 3 // the index of the audit log in c.lists
		for _, l := range c.lists(p)[:audit] {
			calls.atOnce(func() { noError(t, l.read(admin(c.ada))) })
		}
		noError(t, errorOf(c.RoleFor(ctx, admin(c.ada), c.org, c.app)))
		_, _, err = c.Endpoints(ctx, c.app, p)
		noError(t, err)
		p.Limit = 2 // links and the audit log are only read in pages
		_, _, err = c.Links(ctx, c.app, p)
		noError(t, err)
		calls.atOnce(func() { noError(t, c.lists(p)[audit].read(admin(c.ada))) })
	}
}

// everyLeaver makes two keys as a person. A call revokes the first and writes its position. everyLeaver returns the person.
func (c *connected) everyLeaver(t *testing.T) id.User {
	t.Helper()
	leaver := addMember(t, c.Table, c.org, c.ada, "leaver@example.com", org.Admin)
	for range 2 {
		makeKey(t, c.Table, c.org, leaver, 0)
	}
	c.SetSpreadWithin(0)
	expectCode(t, c.RevokeKeysOf(ctx, admin(c.ada), c.org, leaver), problem.Unavailable)
	c.SetSpreadWithin(4 * time.Second)
	return leaver
}

// everyChange changes endpoints and keys, claims a link with a device, charges budgets and warns of a key.
func (c *connected) everyChange(t *testing.T) {
	t.Helper()
	key := makeKey(t, c.Table, c.org, c.ada, 0).ID
	wanted := c.wanted(key)
	wanted.URL, wanted.Description, wanted.Events = "https://one.example/hook?a=<1>", "One & only", []string{"key.created", "link.claimed"}
	noError(t, errorOf(c.Catalogue(ctx)))
	const header = "6f2d9b0c-1111-4222-8333-444455556667" // everything has used idempotencyKey
	made, err := c.CreateEndpoint(ctx, wanted, once[store.Endpoint](c, header, "{}", "{}"))
	noError(t, err)
	change := func(by id.Key, e store.EndpointChange) {
		t.Helper()
		e.By = by
		c.advanceClock(time.Second)
		noError(t, errorOf(c.UpdateEndpoint(ctx, c.app, made.Made.ID, e)))
	}
	url, sameHost, description, no, yes := "https://two.example/hook", "https://two.example/other", "Two", false, true
	change(key, store.EndpointChange{URL: &url})
	change(id.NoKey, store.EndpointChange{Events: []string{webhook.Every}})
	change(id.NoKey, store.EndpointChange{URL: &sameHost, Description: &description})
	change(key, store.EndpointChange{Enabled: &no})
	change(key, store.EndpointChange{Enabled: &yes})
	noError(t, c.DisableEndpointsOf(ctx, admin(c.ada), c.org, key))
	carrying := c.wideKey(t)
	noError(t, c.update(carrying, store.KeyChange{Scopes: ptr("a c"), Name: ptr("Narrow")}))
	noError(t, c.update(c.wideKey(t), store.KeyChange{Scopes: ptr(""), Metadata: map[string]string{}}))
	c.successorOf(t, carrying, store.KeyChange{Metadata: map[string]string{"plan": "free"}})
	noError(t, c.setAllowance("100000/d"))
	k := c.limitedKey(t, "").ID
	noError(t, c.NoteRefusals(ctx, limit.Refused{Org: c.org, Key: k, LimitID: k}, 1_800_000_000, limit.Refusals{limit.Scope: 1}))
	l := c.link(t, time.Hour)
	device, claim := "Phone <1>", l.claim("k")
	claim.Device = &link.Device{Name: &device}
	noError(t, errorOf(c.ClaimLink(ctx, claim)))
	noError(t, errorOf(c.ClaimLink(ctx, claim))) // the device repeats its claim
	c.advanceClock(time.Minute)
	noError(t, errorOf(c.Deliveries().SpendEvent(ctx, c.org, c.app))) // the budget is refilled
	noError(t, errorOf(c.Deliveries().SpendEvent(ctx, c.org, c.app))) // no refill
	noError(t, c.Deliveries().Spend(ctx, c.org, c.app, 5))
	warned := makeKey(t, c.Table, c.org, c.ada, 100*dayLong).ID
	c.advanceClock(94 * dayLong)
	noError(t, c.WarnOfKey(ctx, c.org, warned))
}

// everyAttempt makes attempts with every result, and does everything that can happen to a delivery between attempts.
func (c *connected) everyAttempt(t *testing.T) {
	t.Helper()
	pending := func(endpoint store.Endpoint) store.Work { // a new delivery
		t.Helper()
		c.advanceClock(time.Second)
		return c.readWork(t, endpoint.ID, c.fanOutTest(t, endpoint.ID))
	}
	lease := func(w store.Work, jti string) store.Work {
		t.Helper()
		noError(t, errorOf(c.Deliveries().LeaseAttempt(ctx, w, jti)))
		return w
	}
	endpoint := c.endpoint(t)
	lease(pending(endpoint), "leased")
	noError(t, c.Deliveries().ReturnAttempt(ctx, lease(pending(endpoint), "returned"), "returned", c.Now().UnixMilli()+5))
	status, body, reason := 500, "<no>", "timeout"
	for _, queued := range []bool{false, true} {
		noError(t, c.Deliveries().RecordAttempt(ctx, lease(pending(endpoint), "again"), store.Attempted{
			Last:   store.LastAttempt{ID: "again", At: c.Now().UnixMilli(), Status: &status, DurationMs: 7, Body: &body},
			Status: webhook.DeliveryPending, Next: c.Now().UnixMilli() + 9, Queued: queued,
		}))
	}
	noError(t, c.Deliveries().RecordAttempt(ctx, lease(pending(endpoint), "last"), store.Attempted{
		Last: store.LastAttempt{ID: "last", Error: &reason}, Status: webhook.DeliveryFailed,
	}))
	due := pending(endpoint)
	c.advanceClock(time.Hour)
	dueAt := due.NextAttempt + time.Minute.Milliseconds() // the sweep finds a delivery overdue after a minute
	noError(t, errorOf(c.Deliveries().Requeue(ctx, store.Due{App: c.app, Endpoint: endpoint.ID, Event: due.Event, At: dueAt})))
	c.everyBreaker(t, pending)
	endpoint = c.readEndpoint(t, endpoint.ID)
	noError(t, c.Deliveries().Failed(ctx, endpoint))
	noError(t, c.Deliveries().DisableEndpoint(ctx, c.readEndpoint(t, endpoint.ID), webhook.DisabledByFailing))
	noError(t, errorOf(c.Deliveries().Hold(ctx, due.DeliveryID)))
	noError(t, errorOf(c.Deliveries().Again(ctx, webhook.DeliveryID{App: c.app, Endpoint: endpoint.ID, Event: due.Event}, store.Changer{}, false)))
	enabled := c.enable(t, endpoint.ID, true)
	noError(t, errorOf(c.Deliveries().Release(ctx, enabled, due.DeliveryID)))
	_, _, err := c.Deliveries().WaitingFor(ctx, enabled, 10)
	noError(t, err)
	noError(t, c.Deliveries().LookedAt(ctx, enabled, store.Looked{Began: c.Now(), Held: true, Next: due.Event, Again: c.Now().Add(time.Minute)}))
	for _, status := range webhook.DeliveryStatuses() {
		_, _, err = c.Deliveries().List(ctx, c.app, store.DeliverySpan{Endpoint: endpoint.ID, Status: status, Since: time.UnixMilli(1_700_000_000_000), Limit: 2})
		noError(t, err)
	}
	for _, kind := range store.DueKinds() {
		noError(t, errorOf(c.DueBefore(ctx, kind, c.Now(), 10)))
	}
}

// everyBreaker opens and closes the breakers of endpoints, and parks deliveries.
func (c *connected) everyBreaker(t *testing.T, pending func(store.Endpoint) store.Work) {
	t.Helper()
	failing := func() store.Endpoint { // an endpoint whose breaker is open
		t.Helper()
		endpoint := c.endpoint(t)
		for range webhook.BreakAfter {
			c.advanceClock(time.Minute)
			noError(t, c.Deliveries().Failed(ctx, c.readEndpoint(t, endpoint.ID)))
		}
		return c.readEndpoint(t, endpoint.ID)
	}
	open, recovered, swept := failing(), failing(), failing()
	unparked, left := pending(open), pending(open)
	for _, w := range []store.Work{unparked, left} {
		noError(t, c.Deliveries().Park(ctx, w, open.OpenUntil))
	}
	noError(t, errorOf(c.Deliveries().Parked(ctx, open.ID, 0, 10)))
	noError(t, errorOf(c.Deliveries().Unpark(ctx, store.Due{App: c.app, Endpoint: open.ID, Event: unparked.Event})))
	noError(t, errorOf(c.Deliveries().Probe(ctx, open)))
	noError(t, c.Deliveries().Succeeded(ctx, recovered))
	c.advanceClock(time.Hour)
	noError(t, c.Deliveries().LookedAt(ctx, swept, store.Looked{Began: c.Now()}))
	for _, endpoint := range []store.Endpoint{open, recovered, swept} {
		_, _, err := c.Deliveries().Waiting(ctx, c.app, endpoint.ID)
		noError(t, err)
	}
}

// shorter has replacements that make the recorded calls shorter, and mask the random part of an endpoint's URL
// (connected.endpoint). The last characters of an id and of a hash are enough to recognise it.
var shorter = []struct {
	long  *regexp.Regexp
	short string
}{
	{regexp.MustCompile(`https://receiver\.example/\d+`), "https://receiver.example/*"},
	{regexp.MustCompile(`\b([a-z]{3}_)[0-9a-z]{20}([0-9a-z]{6})\b`), "$1$2"},
	{regexp.MustCompile(`[0-9a-f]{56}([0-9a-f]{8})\b`), "$1"},
	{regexp.MustCompile(`"ConditionExpression":true`), "if"},
	{regexp.MustCompile(`"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`), "old"},
	{regexp.MustCompile(`"Key":{"PK":("[^"]*"),"SK":("[^"]*")}`), "$1 $2"},
}

// callRecorder is an HTTP transport that records every call of the database as a line, as outline shows it.
type callRecorder struct {
	next http.RoundTripper

	mu    sync.Mutex
	lines []string
}

// atOnce runs do, which makes some of its calls at the same time, so that they come in any order. It sorts the
// lines of all calls of do: first the read of the role, then the queries, then the batch that is made after
// both.
func (r *callRecorder) atOnce(do func()) {
	from := len(r.lines)
	do()
	order := []byte("GQB") // the first letters of GetItem, Query and BatchGetItem
	slices.SortFunc(r.lines[from:], func(a, b string) int {
		return cmp.Or(cmp.Compare(bytes.IndexByte(order, a[0]), bytes.IndexByte(order, b[0])), cmp.Compare(a, b))
	})
}

// RoundTrip records one call and passes it on.
func (r *callRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	var in any
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	out, err := json.Marshal(outline("", in))
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	r.mu.Lock()
	r.lines = append(r.lines, fmt.Sprintf("%s %s\n", operation, out))
	r.mu.Unlock()
	return r.next.RoundTrip(request)
}

// outline returns the parts of a request that decide its cost: the keys of its rows, and whether it has a condition.
// It leaves out the expressions, the written attributes, and values that differ from run to run. A text {"S": "x"}
// becomes "x". v is the request, or a part of it with this name.
func outline(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			switch name {
			case "UpdateExpression", "KeyConditionExpression", "ExpressionAttributeNames", "TableName", "ClientRequestToken":
				// left out
			case "ExpressionAttributeValues": // in a query, these values are the keys
				if values, _ := value.(map[string]any); v["KeyConditionExpression"] != nil {
					out["Keys"] = outline("Keys", slices.Collect(maps.Values(values)))
				}
			case "ConditionExpression":
				out[name] = true
			case "Item":
				item, _ := value.(map[string]any)
				out["Key"] = outline("Key", map[string]any{"PK": item["PK"], "SK": item["SK"]})
			case "RequestItems":
				tables, _ := value.(map[string]any)
				for _, request := range tables { // there is one table
					out[name] = outline(name, request)
				}
			default:
				out[name] = outline(name, value)
			}
		}
		if text, ok := out["S"]; ok && len(out) == 1 {
			return text
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = outline(name, value)
		}
		if name == "Keys" { // their order does not matter
			slices.SortFunc(out, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		return out
	}
	return v
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	for _, s := range shorter {
		got = s.long.ReplaceAllString(got, s.short)
	}
	servicetest.Golden(t, filepath.Join("testdata", name), got, os.Getenv("UPDATE_GOLDEN") != "")
}
