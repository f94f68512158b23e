package pipeline

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log/slog"
	mathrand "math/rand/v2" //nolint:depguard // jitter, no secret
	"net/http"
	"sync"
	"time"

	"latchkey/pkg/metric"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

const (
	// signerKeptFor is how long this process remembers the active key. It is much shorter than
	// webhook.KeyOverlap.
	signerKeptFor = time.Minute

	// signAgain is how long an attempt that could not be signed waits for its next try.
	signAgain = 15 * time.Second
)

// Signer signs digests. signing.Keys implements it.
type Signer interface {
	Sign(ctx context.Context, arn string, digest [sha256.Size]byte) (webhook.Signature, error)
}

// Poster sends a webhook to a customer's URL. outbound.Sender implements it.
type Poster interface {
	Post(ctx context.Context, url string, header http.Header, body []byte) outbound.Result
}

// Deliver makes the attempts of deliveries.
type Deliver struct {
	Store  *store.Store
	Queue  webhook.Queue
	Signer Signer
	Post   Poster
	Issuer string // iss of every token

	mu     sync.Mutex
	signer store.SigningKey // the active key, as last read
	until  time.Time        // when signer must be read again

	delivered, failed metric.Counter
}

// Body makes the attempt that the body of a message names. A body that cannot be read is an error,
// so the message ends in the dead-letter queue.
func (d *Deliver) Body(ctx context.Context, body string) error {
	m, err := webhook.ParseMessage(body)
	if err != nil {
		return err
	}
	return d.Message(ctx, m)
}

// Message makes the next attempt of the delivery that a message names, if an attempt is due. An error
// is a fault of the table: then the queue brings the message again.
func (d *Deliver) Message(ctx context.Context, m webhook.Message) error {
	w, ok, err := d.Store.Deliveries().Work(ctx, m.DeliveryID)
	if err != nil || !ok {
		return err // not ok: the delivery or its event no longer exists
	}
	deliveries := d.Store.Deliveries()
	switch w.Step(w.To.EndpointState, d.Store.Now()) {
	case webhook.StepCancel:
		return deliveries.Cancel(ctx, w.DeliveryID)
	case webhook.StepHold:
		if held, err := deliveries.Hold(ctx, w.DeliveryID); held || unlessBusy(ctx, err) != nil {
			return err
		}
		return deliveries.DueSoon(ctx, w) // the endpoint may have been enabled since it was read
	case webhook.StepGiveUp:
		return deliveries.GiveUp(ctx, w.DeliveryID)
	case webhook.StepPark:
		return deliveries.Park(ctx, w, w.To.OpenUntil)
	case webhook.StepProbe:
		taken, err := deliveries.Probe(ctx, w.To)
		switch {
		case err != nil:
			return err
		case !taken: // the endpoint has changed since it was read, so it is not known whether its breaker is still open
			return deliveries.DueSoon(ctx, w)
		}
		return d.attempt(ctx, w)
	case webhook.StepAttempt:
		return d.attempt(ctx, w)
	default:
		return nil // this message is of an earlier attempt; another message wakes the next one
	}
}

func messageOf(w store.Work) webhook.Message {
	return webhook.Message{Org: w.Org, DeliveryID: w.DeliveryID}
}

// attempt leases an attempt, signs and sends the webhook, and records the result. The jti of the token is also the name
// of the lease.
func (d *Deliver) attempt(ctx context.Context, w store.Work) error {
	jti := rand.Text()
	if leased, err := d.Store.Deliveries().LeaseAttempt(ctx, w, jti); err != nil || !leased {
		return err
	}
	at := d.Store.Now()
	token, again, err := d.ready(ctx, &w, webhook.Attempt{ID: jti, Issuer: d.Issuer, Endpoint: w.Endpoint, At: at, Event: w.Payload})
	if err != nil {
		// Nothing was sent, so the attempt does not count. A failure of KMS only delays the delivery.
		ctx, cancel := timeToRecord(ctx)
		defer cancel()
		slog.WarnContext(ctx, "a webhook is not sent now", "error", err, "endpoint", w.Endpoint, "event", w.Event)
		if err := d.Store.Deliveries().ReturnAttempt(ctx, w, jti, at.Add(again).UnixMilli()); err != nil {
			return err
		}
		wake(ctx, d.Queue, again, messageOf(w))
		return nil
	}
	result := d.Post.Post(ctx, w.To.URL, http.Header{
		"Content-Type": {webhook.ContentType}, "Webhook-Id": {string(w.Event)}, "User-Agent": {userAgent},
	}, []byte(token))
	return d.record(ctx, w, jti, at, result)
}

var errNotEnabled = errors.New("pipeline: the endpoint was disabled or deleted meanwhile")

// ready signs an attempt, and then reads its endpoint again into w. This read must be the last step before the request:
// so no attempt begins after a caller got the answer that the endpoint is disabled. After an error, again is the time
// until the next try.
func (d *Deliver) ready(ctx context.Context, w *store.Work, a webhook.Attempt) (token string, again time.Duration, err error) {
	token, err = d.sign(ctx, a)
	if err != nil {
		slog.WarnContext(ctx, "a webhook cannot be signed", append(metric.SignFailures.With(1), "error", err)...)
		return "", signAgain, err
	}
	current, ok, err := d.Store.Deliveries().Current(ctx, w.To)
	switch {
	case err != nil:
		return "", signAgain, err
	case !ok:
		return "", 0, errNotEnabled // the next message holds or cancels the delivery
	}
	w.To = current
	return token, 0, nil
}

// sign signs an attempt with the active key.
func (d *Deliver) sign(ctx context.Context, a webhook.Attempt) (string, error) {
	key, err := d.activeKey(ctx)
	if err != nil {
		return "", err
	}
	draft, err := a.Draft(key.Kid)
	if err != nil {
		return "", err
	}
	signature, err := d.Signer.Sign(ctx, key.ARN, draft.Digest)
	if err != nil {
		d.forgetKey() // KMS may have disabled the key
		return "", err
	}
	return draft.Token(signature), nil
}

var errNoSigningKey = errors.New("pipeline: there is no active signing key yet")

// activeKey returns the active key. It reads the key from the table at most once in signerKeptFor.
func (d *Deliver) activeKey(ctx context.Context) (store.SigningKey, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Store.Now()
	if now.Before(d.until) {
		return d.signer, nil
	}
	key, ok, err := d.Store.ActiveSigningKey(ctx)
	if err != nil {
		return store.SigningKey{}, err
	}
	if !ok {
		return store.SigningKey{}, errNoSigningKey
	}
	d.signer, d.until = key, now.Add(signerKeptFor)
	return key, nil
}

// forgetKey makes the next signature read the active key from the table again, because another key
// may be active now.
func (d *Deliver) forgetKey() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until = time.Time{}
}

// record writes the result of an attempt to the delivery and to the endpoint.
func (d *Deliver) record(ctx context.Context, w store.Work, jti string, at time.Time, r outbound.Result) error {
	ctx, cancel := timeToRecord(ctx)
	defer cancel()
	now, deliveries := d.Store.Now(), d.Store.Deliveries()
	var retryAfter time.Duration
	if r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable { // a Retry-After of other answers is ignored
		retryAfter = r.RetryAfter
	}
	round, wait := w.Tried(delivered(r), retryAfter, mathrand.Float64(), now) //nolint:gosec // jitter: guessing it gives no advantage
	// The queue cannot hold a message for longer than MaxDelay. After a longer wait, the sweep wakes the delivery.
	queued := round.Status == webhook.DeliveryPending && wait <= webhook.MaxDelay
	recorded := deliveries.RecordAttempt(ctx, w, store.Attempted{Last: lastAttempt(jti, at, r), Status: round.Status, Next: round.NextAttempt, Queued: queued})
	if delivered(r) {
		d.delivered.Add(ctx, metric.AttemptsDelivered, now)
		return errors.Join(recorded, deliveries.Succeeded(ctx, w.To))
	}
	d.failed.Add(ctx, metric.AttemptsFailed, now)
	if recorded != nil {
		return recorded // the attempt is made again, and that attempt counts against the endpoint
	}
	if why := w.To.Disables(r.Status, now); why != "" {
		// After an error the message comes again, and Message holds the delivery.
		disabled := deliveries.DisableEndpoint(ctx, w.To, why)
		_, err := deliveries.Hold(ctx, w.DeliveryID)
		return errors.Join(disabled, err)
	}
	if queued {
		wake(ctx, d.Queue, wait, messageOf(w))
	}
	return deliveries.Failed(ctx, w.To)
}

// timeToRecord returns a context that outlives ctx by recordTimeout. The result of an attempt must be
// written even when the function's time is nearly over.
func timeToRecord(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
}

const (
	recordTimeout = 5 * time.Second
	userAgent     = "Latchkey-Webhooks/1"
)

func delivered(r outbound.Result) bool { return r.Status >= 200 && r.Status < 300 && r.Err == "" }

// lastAttempt returns the last attempt that a delivery shows. A redirect is an error, because the sender follows none.
func lastAttempt(jti string, at time.Time, r outbound.Result) store.LastAttempt {
	last := store.LastAttempt{ID: jti, At: at.UnixMilli(), DurationMs: r.Took.Milliseconds()}
	if r.Status != 0 {
		last.Status, last.Body = &r.Status, &r.Answer
	}
	switch {
	case r.Err != "":
		last.Error = &r.Err
	case r.Status >= 300 && r.Status < 400:
		redirect := "redirect"
		last.Error = &redirect
	}
	return last
}
