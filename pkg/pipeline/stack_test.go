package pipeline_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/pipeline/signing"
	"latchkey/pkg/webhook"
)

const issuer = "https://latchkey.test"

// stack is the whole pipeline with a table, a KMS and a clock. The test itself moves messages from the queue and
// records from the stream.
type stack struct {
	*world
	ada     id.User // the org's admin
	org     id.Org
	app     id.App // the org's default app
	queue   *recorder
	signer  *signer
	fan     pipeline.FanOut
	deliver *pipeline.Deliver
	sweep   pipeline.Sweep
}

func newStack(t *testing.T) *stack {
	t.Helper()
	s := unsigned(t)
	s.rotate(t) // activates the first signing key
	return s
}

// unsigned returns a stack that has no active signing key yet.
func unsigned(t *testing.T) *stack {
	t.Helper()
	s := &stack{world: newWorld(t)}
	s.ada = s.NewUser(t, "ada@example.com")
	s.org = s.NewOrg(t, s.ada)
	s.app = id.DefaultApp(s.org)
	s.queue = &recorder{now: s.Now}
	s.signer = &signer{real: s.kms.real}
	s.fan = pipeline.FanOut{Store: s.Store, Queue: s.queue}
	s.deliver = s.deliverer()
	s.sweep = pipeline.Sweep{Store: s.Store, Queue: s.queue, FanOut: s.fan}
	return s
}

// deliverer returns a new Deliver, like another process. It shares the table, the queue and the signer.
func (s *stack) deliverer() *pipeline.Deliver {
	guard := outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	return &pipeline.Deliver{Store: s.Store, Queue: s.queue, Signer: s.signer, Post: outbound.NewSender(guard), Issuer: issuer}
}

// pass moves the clock forward.
func (s *stack) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// signer counts signatures. While away is set, it fails. While lost is set, it signs but returns an error.
type signer struct {
	real       *signing.Keys
	n          atomic.Int64 // signatures
	away, lost atomic.Bool
}

func (s *signer) Sign(ctx context.Context, arn string, digest [sha256.Size]byte) (webhook.Signature, error) {
	if s.away.Load() {
		return webhook.Signature{}, errFault
	}
	s.n.Add(1)
	signature, err := s.real.Sign(ctx, arn, digest)
	if s.lost.Load() {
		return webhook.Signature{}, errFault
	}
	return signature, err
}

// recorder is a queue in memory. A message appears after its delay, in whole seconds as in SQS.
type recorder struct {
	now        func() time.Time
	down, lost atomic.Bool // down: Send fails; lost: Send queues, but returns an error

	mu      sync.Mutex
	waiting []waiting
	sent    int    // messages since the beginning
	sending func() // called at each Send; nil: not used
}

type waiting struct {
	webhook.Message
	at time.Time // when the message appears
}

func (r *recorder) Send(_ context.Context, delay time.Duration, messages ...webhook.Message) error {
	if r.down.Load() {
		return errors.New("the queue is down")
	}
	if delay > webhook.MaxDelay {
		return fmt.Errorf("a delay of %s", delay)
	}
	roundedUp := max(delay+time.Second-1, 0).Truncate(time.Second)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sending != nil {
		r.sending()
	}
	for _, m := range messages {
		r.sent++
		r.waiting = append(r.waiting, waiting{m, r.now().Add(roundedUp)})
	}
	if r.lost.Load() {
		return errors.New("the answer of the queue is lost")
	}
	return nil
}

// ready removes and returns the messages that have appeared.
func (r *recorder) ready() (out []webhook.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var left []waiting
	for _, w := range r.waiting {
		if w.at.After(r.now()) {
			left = append(left, w)
		} else {
			out = append(out, w.Message)
		}
	}
	r.waiting = left
	return out
}

// dropAll removes all messages, and returns how many there were.
func (r *recorder) dropAll() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.waiting)
	r.waiting = nil
	return n
}

// count returns how many messages were sent since the beginning.
func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// attemptAll makes every attempt that the queue wakes now, one after the other.
func (s *stack) attemptAll(t *testing.T) {
	t.Helper()
	for batch := s.queue.ready(); len(batch) > 0; batch = s.queue.ready() {
		for _, m := range batch {
			body, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.deliver.Body(ctx, string(body)); err != nil {
				t.Error(err)
			}
		}
	}
}

// fanOutAll fans out every event that was not fanned out yet, as the table's stream does.
func (s *stack) fanOutAll(t *testing.T) {
	t.Helper()
	for _, r := range s.Rows(t) {
		pk, sk := attr(r, "PK"), attr(r, "SK")
		if strings.HasPrefix(pk, "EVTS#") && attr(r, "fannedAt") == "" {
			if err := s.fan.Record(ctx, pk, sk); err != nil {
				t.Error(err)
			}
		}
	}
}

// sweepOnce runs the sweep once, and fails the test on an error.
func (s *stack) sweepOnce(t *testing.T) {
	t.Helper()
	if err := s.sweep.Run(ctx); err != nil {
		t.Error(err)
	}
}

// runMinutes runs the sweep and the queue after each of n minutes.
func (s *stack) runMinutes(t *testing.T, n int) {
	t.Helper()
	for range n {
		s.runAfter(t, time.Minute)
	}
}

// runAfter moves the clock by d, and then runs the sweep and the queue.
func (s *stack) runAfter(t *testing.T, d time.Duration) {
	t.Helper()
	s.pass(d)
	s.sweepOnce(t)
	s.attemptAll(t)
}

// attr returns an attribute of a row, a text or a number. It returns "" when the row does not have it.
func attr(row map[string]types.AttributeValue, name string) string {
	switch v := row[name].(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

type row = map[string]types.AttributeValue

func str(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func num(v int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(v, 10)}
}

// putRows writes n rows directly into the table. rowOf makes row i.
func (s *stack) putRows(t *testing.T, n int, rowOf func(i int) row) {
	t.Helper()
	const maxPuts = 25 // BatchWriteItem
	var puts []types.WriteRequest
	for i := range n {
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: rowOf(i)}})
	}
	for part := range slices.Chunk(puts, maxPuts) {
		if _, err := s.DB.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.Name: part}}); err != nil {
			t.Fatal(err)
		}
	}
}

// shard returns the partition of a row in the index: one of eight for each kind, by the hash of the row's key.
func shard(kind, pk, sk string) types.AttributeValue {
	h := fnv.New32a()
	_, _ = h.Write([]byte(pk + sk))
	return str(fmt.Sprint("DUE#", kind, "#", h.Sum32()%8))
}

// linkRow returns the row of pending link number i, which expires in a day.
func linkRow(s *stack, o id.Org, a id.App, i int) row {
	pk, sk := "LINKS#"+string(a), fmt.Sprintf("LINK#lnk_%026d", i)
	at := s.Now().UnixMilli()
	return row{
		"PK": str(pk), "SK": str(sk), "due": shard("link", pk, sk), "dueAt": num(at + 86_400_000), "orgId": str(string(o)), "clientUserId": str("u"),
		"createdAt": num(at), "expiresAt": num(at + 86_400_000), "purgeAt": num(at/1000 + 31*86_400), "hash": &types.AttributeValueMemberB{Value: []byte("x")},
	}
}

// overdueRow returns the row of delivery number i, which is due. Its endpoint does not exist.
func overdueRow(s *stack, i int) row {
	pk, sk := "DLV#whe_1", fmt.Sprintf("evt_%026d", i)
	return row{
		"PK": str(pk), "SK": str(sk), "orgId": str(string(s.org)), "appId": str(string(s.app)), "status": str("pending"),
		"due": shard("delivery", pk, sk), "dueAt": num(s.Now().UnixMilli() - 1), "startedAt": num(s.Now().UnixMilli()), "nextAttemptAt": num(1),
	}
}
