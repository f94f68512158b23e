package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/local/stack"
	"latchkey/pkg/parallel"
)

const (
	backlog     = 2000  // the number of overdue deliveries of one tenant, and of its overdue links
	loadBacklog = 20000 // the same in `make load`

	published     = 5000      // the number of events that are published for one tenant at once
	loadPublished = 1_000_000 // the same in `make load`

	// maxBefore is the most webhooks of the busy tenant that may arrive while a webhook of another tenant is due. They take 1 to 4 s.
	maxBefore = 125
)

// TestATenantsBacklogDelaysNoOther gives one tenant overdue links, and overdue deliveries to a slow receiver. It then measures
// two retries of another tenant: one that only the sweep finds, and one that waits in the queue.
func TestATenantsBacklogDelaysNoOther(t *testing.T) {
	t.Parallel()
	n := backlog
	if os.Getenv("LOAD_SECONDS") != "" {
		n = loadBacklog
	}
	s, tg := startLocal(t, stack.Options{InMemory: true, MaxCopies: loadCopies, Parameters: loadParameters()})
	busy, other := tg.server(t), tg.server(t)
	busyReceiver := busy.receiver(t, func(arrival) int { time.Sleep(time.Second); return http.StatusNoContent }, "link.revoked")
	hook, failing := other.failingReceiver(t)

	event := other.revokedLink(t, s)
	other.delivered(t, hook.endpoint, event)
	busy.plantBacklog(t, s, n)
	begun := time.Now()
	past := map[string]types.AttributeValue{":past": millis(time.Now()), ":due": text("DUE#delivery#0"), ":pending": text("pending")}
	setRow(t, s, rowKey{"DLV#" + hook.endpoint, event}, "SET #status = :pending, nextAttemptAt = :past, due = :due, dueAt = :past", past)
	eventually(t, 2*time.Minute, "the retry that only the sweep finds", func() bool { return len(hook.about("link.revoked", "")) == 2 })
	t.Logf("the retry by the sweep came after %s", time.Since(begun))

	failing.Store(true)
	event = other.revokedLink(t, s)
	within(t, "the first attempt", func() bool { return other.delivery(t, hook.endpoint, event)["lastAttempt"] != nil })
	failing.Store(false)
	due := time.UnixMilli(number(other.delivery(t, hook.endpoint, event)["nextAttemptAt"]))
	// The four arrivals: the first event, its retry by the sweep, the second event (answered 500), and its retry from the queue.
	eventually(t, time.Minute, "the retry from the queue", func() bool { return len(hook.about("link.revoked", "")) == 4 })
	busyReceiver.checkDelay(t, due, hook.arrivals()[3].At)
	left := waitingIn(t, s, busy.appID)
	t.Logf("%d rows of the busy tenant still wait", left)
	if left == 0 {
		t.Error("the test proves nothing: the backlog ended before the retry of the other tenant")
	}
}

// checkDelay checks that few webhooks arrived at this busy tenant's receiver between two times: when a webhook of another tenant
// was due, and when it came. It counts webhooks instead of seconds, because a busy machine makes all webhooks late.
func (r *receiver) checkDelay(t *testing.T, due, came time.Time) {
	t.Helper()
	before := 0
	for _, a := range r.arrivals() {
		if a.At.After(due) && a.At.Before(came) {
			before++
		}
	}
	t.Logf("the retry came %s after its time, after %d webhooks of the busy tenant", came.Sub(due), before)
	if before > maxBefore {
		t.Errorf("the retry came after %d webhooks of the busy tenant, %s after its time", before, came.Sub(due))
	}
}

// failingReceiver starts a receiver of link.revoked that fails while failing is set.
func (c *server) failingReceiver(t *testing.T) (r *receiver, failing *atomic.Bool) {
	t.Helper()
	failing = &atomic.Bool{}
	return c.receiver(t, func(arrival) int {
		if failing.Load() {
			return http.StatusInternalServerError
		}
		return http.StatusNoContent
	}, "link.revoked"), failing
}

// TestAFloodOfPublishedEventsDelaysNoOther publishes many events for one tenant, whose receiver is slow. It measures
// a retry of another tenant at the same time.
func TestAFloodOfPublishedEventsDelaysNoOther(t *testing.T) {
	t.Parallel()
	events := published
	if os.Getenv("LOAD_SECONDS") != "" {
		events = loadPublished
	}
	s, tg := startLocal(t, stack.Options{InMemory: true, MaxCopies: loadCopies, Parameters: loadParameters()})
	busy, other := tg.server(t), tg.server(t)
	flooded := busy.receiver(t, func(arrival) int { time.Sleep(time.Second); return http.StatusNoContent }, "invoice.*")
	hook, failing := other.failingReceiver(t)
	event := other.revokedLink(t, s)
	other.delivered(t, hook.endpoint, event)

	reserve := func(copies int) { // DynamoDB Local writes rows ten times as fast while these functions do not read them
		t.Helper()
		if err := errors.Join(s.Reserve("FanoutFunction", copies), s.Reserve("SweepFunction", copies)); err != nil {
			t.Fatal(err)
		}
	}
	reserve(0)
	begun := time.Now()
	busy.plantPublished(t, s, events)
	t.Logf("%d events were written in %s", events, time.Since(begun))
	reserve(1)
	within(t, "the flood", func() bool { return len(flooded.arrivals()) > 0 })

	failing.Store(true)
	other.ok(t, "/webhook_delivery/redeliver", members{"eventId": event, "endpointId": hook.endpoint})
	var retry time.Time // the time at which the retry is due
	within(t, "the attempt of the redelivery", func() bool {
		d := other.delivery(t, hook.endpoint, event)
		last, _ := d["lastAttempt"].(members)
		retry = time.UnixMilli(number(d["nextAttemptAt"]))
		return number(last["status"]) == http.StatusInternalServerError
	})
	eventually(t, time.Minute, "the retry", func() bool { return len(hook.arrivals()) == 3 })
	flooded.checkDelay(t, retry, hook.arrivals()[2].At)
	waiting := busy.ok(t, "/webhook_delivery/list", members{"endpointId": flooded.endpoint, "status": "pending", "limit": 1})
	if len(waiting.list("deliveries")) == 0 {
		t.Error("the test proves nothing: the flood ended before the retry")
	}
}

// plantPublished writes the rows of n events that are published for the app.
func (c *server) plantPublished(t *testing.T, s *stack.Stack, n int) {
	t.Helper()
	now := time.Now()
	var puts []types.WriteRequest
	for i := range n {
		if len(puts) == 10_000 { // a million rows at once would need too much memory
			writeRows(t, s, puts)
			puts = puts[:0]
		}
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: map[string]types.AttributeValue{
			"PK": text("EVTS#" + c.appID), "SK": text(fmt.Sprintf("evt_%026d", 1_000_000_000+i)), "orgId": text(c.org), "type": text("invoice.paid"), "data": text(`{"amount":4900}`),
			"createdAt": millis(now), "purgeAt": &types.AttributeValueMemberN{Value: fmt.Sprint(now.Add(time.Hour).Unix())},
			"due": text(fmt.Sprint("DUE#event#", i%8)), "dueAt": millis(now),
		}}})
	}
	writeRows(t, s, puts)
}

// writeRows writes rows, four batches at a time.
func writeRows(t *testing.T, s *stack.Stack, puts []types.WriteRequest) {
	t.Helper()
	const inBatch = 25 // the limit of BatchWriteItem
	db := backing.NewDynamoDBClient(s.DataPlane.DynamoDB)
	err := errors.Join(parallel.Each(4, slices.Collect(slices.Chunk(puts, inBatch)), func(_ int, batch []types.WriteRequest) error {
		in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.TableName: batch}}
		_, err := db.BatchWriteItem(t.Context(), in)
		return err
	})...)
	if err != nil {
		t.Fatal(err)
	}
}

// delivery returns the delivery of an event to an endpoint, or nil.
func (c *server) delivery(t *testing.T, endpoint, event string) map[string]any {
	t.Helper()
	for _, d := range c.ok(t, "/webhook_delivery/list", members{"eventId": event}).list("deliveries") {
		if d["endpointId"] == endpoint {
			return d
		}
	}
	return nil
}

// plantBacklog makes an event with its delivery, and a link, by requests. It writes n copies of their rows. The copies have
// been due for an hour.
func (c *server) plantBacklog(t *testing.T, s *stack.Stack, n int) {
	t.Helper()
	event := c.revokedLink(t, s)
	link, _ := c.link(t, "u")
	endpoints := c.pages(t, "/webhook_endpoint/list", "endpoints", members{})
	endpoint, _ := endpoints[0]["id"].(string)
	c.delivered(t, endpoint, event)
	before := millis(time.Now().Add(-time.Hour))
	// The attributes in which the copies differ, by the partition key and the beginning of the sort key of the copies.
	changes := map[rowKey]map[string]types.AttributeValue{
		{"EVTS#" + c.appID, "evt_"}:       {},
		{"DLV#" + endpoint, "evt_"}:       {"status": text("pending"), "nextAttemptAt": before, "dueAt": before, "startedAt": before},
		{"LINKS#" + c.appID, "LINK#lnk_"}: {"expiresAt": before, "dueAt": before},
	}
	originals := map[rowKey]map[string]types.AttributeValue{}
	for k := range changes {
		original := rowKey{k.pk, event} // an event and its delivery have the same sort key
		if k.pk == "LINKS#"+c.appID {
			original.sk = "LINK#" + link
		}
		originals[k] = getRow(t, s, original)
	}
	var puts []types.WriteRequest
	for i := range n {
		for k, changed := range changes {
			row := maps.Clone(originals[k])
			maps.Copy(row, changed)
			row["SK"] = text(fmt.Sprintf("%s%026d", k.sk, i))
			switch k.pk { // spreads the due rows over the eight shards of the index
			case "DLV#" + endpoint:
				row["due"] = text(fmt.Sprint("DUE#delivery#", i%8))
			case "LINKS#" + c.appID:
				row["due"] = text(fmt.Sprint("DUE#link#", i%8))
			}
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: row}})
		}
	}
	writeRows(t, s, puts)
}

// waitingIn counts an app's rows that are due or wait for a later time.
func waitingIn(t *testing.T, s *stack.Stack, app string) (n int) {
	t.Helper()
	db := backing.NewDynamoDBClient(s.DataPlane.DynamoDB)
	scan := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &s.TableName, IndexName: aws.String("due")})
	for scan.HasMorePages() {
		page, err := scan.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Items {
			pk, _ := row["PK"].(*types.AttributeValueMemberS)
			appID, _ := row["appId"].(*types.AttributeValueMemberS)
			ofApp, isLink := appID != nil && appID.Value == app, pk.Value == "LINKS#"+app // a link's row has no appId
			if ofApp || isLink {
				n++
			}
		}
	}
	return n
}
