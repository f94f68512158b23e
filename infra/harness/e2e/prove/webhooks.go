package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"latchkey/infra/harness/local/stack"
	"latchkey/pkg/verify"
)

// webhooks publishes events while the functions between their publication and their receivers are killed, beside all other
// histories and their faults. Each event must reach each receiver at least once, or be shown as failed.
type webhooks struct {
	*history
	org, app, key string
	receivers     []*receiver
	published     []string // ids of events
}

// receiver accepts the webhooks of an endpoint. It answers one in three attempts wrongly.
type receiver struct {
	*history
	how      string // what it does instead
	endpoint string
	verifier *verify.Verifier
	server   *http.Server
	got      sync.Map    // by the ids of events
	mended   atomic.Bool // from then on it answers as it should
}

// newWebhooks makes an app with its receivers.
func newWebhooks(h *history) *webhooks {
	w := &webhooks{history: h}
	w.org = h.org("")
	_, w.key = h.key(w.org, "{}")
	w.app = h.app(w.key)
	for _, how := range []string{"answers", "fails", "hangs", "is late", "redirects"} {
		r := &receiver{history: h, how: how}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			h.violate("a receiver: %v", err)
			return w
		}
		r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
		body := `{"url":"http://` + l.Addr().String() + `/in","events":["proof.*"]}`
		r.endpoint = h.must(request{method: "POST", path: "/webhook_endpoint/create", bearer: w.key, body: body}, "", "").str("id")
		if r.verifier, err = verify.New(verify.Config{BaseURL: h.URL, EndpointID: r.endpoint, Issuer: h.URL}); err != nil {
			h.violate("a receiver: %v", err)
		}
		go func() { _ = r.server.Serve(l) }() // until close
		w.receivers = append(w.receivers, r)
	}
	return w
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the function was killed
	}
	if !r.mended.Load() && r.chance(3) == 0 {
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

// run publishes until the context ends, and kills a function each time if it may.
func (w *webhooks) run(ctx context.Context, kill bool) {
	for n := 0; ctx.Err() == nil; n++ {
		body := fmt.Sprintf(`{"events":[{"type":"proof.made","id":"p-%d-a","data":{"n":%d}},{"type":"proof.made","id":"p-%d-b","data":{}}]}`, n, n, n)
		r := w.must(request{method: "POST", path: "/v1/orgs/" + w.org + "/apps/" + w.app + "/events", bearer: w.billing, body: body}, "", "")
		for _, e := range r.list("events") {
			id, _ := e["id"].(string)
			w.published = append(w.published, id)
		}
		if kill {
			if err := w.KillFunction([]string{"FanoutFunction", "DeliverFunction"}[n%2]); err != nil {
				w.violate("nothing was killed: %v", err)
			}
		}
		if n%5 == 4 {
			w.left(false)
		}
		time.Sleep(2 * time.Second)
	}
}

// drained bounds how long the rest may take once the receivers are mended. The lease of a killed attempt is a part of it.
const drained = 4 * time.Minute

// finish mends the receivers, and waits until every event has arrived or is shown as failed.
func (w *webhooks) finish() {
	for _, r := range w.receivers {
		r.mended.Store(true)
		defer func() { _ = r.server.Close() }()
	}
	left := 0
	for begun := time.Now(); time.Since(begun) < drained; time.Sleep(time.Second) {
		if left = w.left(true); left == 0 {
			return
		}
		if err := w.RunSchedule(w.ctx, "SweepFunction"); err != nil {
			w.violate("the sweep: %v", err)
		}
	}
	w.violate("%d of %d events did not arrive at a receiver, and are not shown as failed", left, len(w.published)*len(w.receivers))
}

// left returns how many deliveries have not arrived. hurry makes those due that wait for their next attempt.
func (w *webhooks) left(hurry bool) (n int) {
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

// settled reports whether a delivery that has not arrived is shown as failed. hurry makes it due if it waits.
func (w *webhooks) settled(r *receiver, event string, hurry bool) bool {
	key := stack.Key("DLV#"+r.endpoint, event)
	out, err := w.db.GetItem(w.ctx, &dynamodb.GetItemInput{TableName: &w.TableName, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return false // the next look says
	}
	switch textOf(out.Item["status"]) {
	case "failed":
		return true
	case "delivered":
		if !r.has(event) { // it has not arrived since the last look
			w.violate("%s is shown as delivered to the receiver that %s, which did not take it", event, r.how)
		}
		return true
	}
	if !hurry {
		return false
	}
	_, _ = w.db.UpdateItem(w.ctx, &dynamodb.UpdateItemInput{ // of a delivery that waits; others refuse it
		TableName: &w.TableName, Key: key, UpdateExpression: aws.String("SET nextAttemptAt = :past, dueAt = :past"),
		ConditionExpression:       aws.String("#status = :pending AND attribute_exists(nextAttemptAt) AND attribute_exists(due) AND nextAttemptAt > :past"),
		ExpressionAttributeNames:  map[string]string{"#status": "status"},
		ExpressionAttributeValues: stack.Row{":past": stack.Millis(time.Now()), ":pending": stack.Text("pending")},
	})
	return false
}
