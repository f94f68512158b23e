package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/local/stack"
	"latchkey/pkg/verify"
)

// webhooks publishes events while all other histories run with their faults. It kills the functions between the publication and the
// receivers. Each event must reach each receiver at least once, or be shown as failed.
type webhooks struct {
	*history
	org, app, key string
	receivers     []*receiver
	published     []string // ids of events
}

// receiver accepts the webhooks of an endpoint. It treats one in three attempts badly.
type receiver struct {
	*history
	how      string // the bad treatment: fails, hangs, is late or redirects; answers: none
	endpoint string
	verifier *verify.Verifier
	server   *httptest.Server
	got      sync.Map    // the ids of the events that arrived
	repaired atomic.Bool // from then on it treats all attempts well
}

// newWebhooks makes an app with its receivers.
func newWebhooks(h *history) *webhooks {
	w := &webhooks{history: h}
	w.org = h.org("")
	_, w.key = h.key(w.org, "{}")
	w.app = h.app(w.key)
	for _, how := range []string{"answers", "fails", "hangs", "is late", "redirects"} {
		r := &receiver{history: h, how: how}
		r.server = httptest.NewServer(r)
		body := `{"url":"` + r.server.URL + `/in","events":["proof.*"]}`
		r.endpoint = h.must(request{method: "POST", path: "/webhook_endpoint/create", bearer: w.key, body: body}, "", "").str("id")
		var err error
		if r.verifier, err = verify.New(verify.Config{BaseURL: h.URL, EndpointID: r.endpoint, Issuer: h.URL}); err != nil {
			h.violate("a receiver: %v", err)
		}
		w.receivers = append(w.receivers, r)
	}
	return w
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the function was killed
	}
	if !r.repaired.Load() && r.chance(3) == 0 {
		switch r.how {
		case "fails":
			w.WriteHeader(http.StatusInternalServerError)
			return
		case "hangs":
			<-req.Context().Done()
			return
		case "is late":
			time.Sleep(2 * time.Second)
		case "redirects":
			http.Redirect(w, req, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
	}
	event, err := r.verifier.Verify(req.Context(), body)
	if err != nil {
		if req.Context().Err() == nil && !errors.Is(err, verify.ErrUnavailable) {
			r.violate("a webhook does not verify: %v", err)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.got.Store(event.ID, true)
	w.WriteHeader(http.StatusNoContent)
}

// run publishes events until the context ends. With kill it kills a function after each publication.
func (w *webhooks) run(ctx context.Context, kill bool) {
	for n := 0; ctx.Err() == nil; n++ {
		body := fmt.Sprintf(`{"events":[{"type":"proof.made","id":"p-%d-a","data":{"n":%d}},{"type":"proof.made","id":"p-%d-b","data":{}}]}`, n, n, n)
		r := w.must(request{method: "POST", path: "/v1/orgs/" + w.org + "/apps/" + w.app + "/events", bearer: w.billing, body: body}, "", "")
		for _, e := range r.list("events") {
			id, _ := e["id"].(string)
			w.published = append(w.published, id)
		}
		if kill {
			if err := w.Lambda.Kill([]string{"FanoutFunction", "DeliverFunction"}[n%2]); err != nil {
				w.violate("a function was not killed: %v", err)
			}
		}
		if n%5 == 4 {
			w.undelivered(false)
		}
		time.Sleep(2 * time.Second)
	}
}

// drainLimit is how long the remaining deliveries may take after the receivers are repaired. It includes the lease of a killed attempt.
const drainLimit = 4 * time.Minute

// finish repairs the receivers, and waits until every event has arrived or is shown as failed.
func (w *webhooks) finish() {
	for _, r := range w.receivers {
		r.repaired.Store(true)
		defer r.server.Close()
		defer r.server.CloseClientConnections() // first: Close waits for running requests
	}
	left := 0
	for begun := time.Now(); time.Since(begun) < drainLimit; time.Sleep(time.Second) {
		if left = w.undelivered(true); left == 0 {
			return
		}
		if err := w.RunSchedule(w.ctx, "SweepFunction"); err != nil {
			w.violate("the sweep: %v", err)
		}
	}
	w.violate("%d of %d deliveries did not arrive, and are not shown as failed", left, len(w.published)*len(w.receivers))
}

// undelivered returns the number of deliveries that have not arrived and are not shown as failed. With hurry, it makes waiting deliveries
// due at once.
func (w *webhooks) undelivered(hurry bool) (n int) {
	for _, r := range w.receivers {
		for _, id := range w.published {
			if !r.has(id) && !w.settled(r, id, hurry) {
				n++
			}
		}
	}
	return n
}

func (r *receiver) has(event string) bool {
	_, has := r.got.Load(event)
	return has
}

// settled reports whether a delivery is shown as failed, or has arrived meanwhile. With hurry, it makes a waiting delivery due at once.
func (w *webhooks) settled(r *receiver, event string, hurry bool) bool {
	key := stack.Key("DLV#"+r.endpoint, event)
	out, err := w.db.GetItem(w.ctx, &dynamodb.GetItemInput{TableName: &w.TableName, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return false // the next call reads it again
	}
	switch textOf(out.Item["status"]) {
	case "failed": // a delivery has eleven attempts
		if n, ok := out.Item["attempts"].(*types.AttributeValueMemberN); !ok || n.Value != "11" {
			w.violate("%s for the receiver that %s is shown as failed after %+v attempts", event, r.how, n)
		}
		return true
	case "delivered":
		if !r.has(event) { // checked again, because it may have arrived in between
			w.violate("%s is shown as delivered to the receiver that %s, and did not arrive there", event, r.how)
		}
		return true
	}
	if !hurry {
		return false
	}
	_, _ = w.db.UpdateItem(w.ctx, &dynamodb.UpdateItemInput{ // an error is expected: the condition fails if the delivery does not wait
		TableName: &w.TableName, Key: key, UpdateExpression: aws.String("SET nextAttemptAt = :past, dueAt = :past"),
		ConditionExpression:       aws.String("#status = :pending AND attribute_exists(nextAttemptAt) AND attribute_exists(due) AND nextAttemptAt > :past"),
		ExpressionAttributeNames:  map[string]string{"#status": "status"},
		ExpressionAttributeValues: stack.Row{":past": stack.Millis(time.Now()), ":pending": stack.Text("pending")},
	})
	return false
}
