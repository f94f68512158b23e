package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

const streamBatch = `{"Records":[
 {"eventID":"1","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"EVTS#a"},"SK":{"S":"e1"}},"SequenceNumber":"100","NewImage":{"PK":{"S":"EVTS#a"}}}},
 {"eventID":"2","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"EVTS#a"},"SK":{"S":"e2"}},"SequenceNumber":"200"}},
 {"eventID":"3","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"EVTS#b"},"SK":{"S":"e3"}},"SequenceNumber":"300"}}]}`

// decoded returns the event in a JSON text.
func decoded[T any](t *testing.T, text string) (e T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// answered returns an answer as the JSON that Lambda gets.
func answered(t *testing.T, a batchAnswer, err error) string {
	t.Helper()
	text, marshal := json.Marshal(a)
	if err != nil || marshal != nil {
		t.Fatal(err, marshal)
	}
	return string(text)
}

// TestTheAnswerNamesTheFirstRecordThatFails: the stream handler tries all records at the same time, and names the first failed
// record.
func TestTheAnswerNamesTheFirstRecordThatFails(t *testing.T) {
	for fails, want := range map[string]string{ // by the sort keys of the records that fail; e1 fails with a panic
		"":      `{"batchItemFailures":[]}`,
		"e1":    `{"batchItemFailures":[{"itemIdentifier":"100"}]}`,
		"e2":    `{"batchItemFailures":[{"itemIdentifier":"200"}]}`,
		"e2 e3": `{"batchItemFailures":[{"itemIdentifier":"200"}]}`, // Lambda sends the later records again with it
		"e1 e3": `{"batchItemFailures":[{"itemIdentifier":"100"}]}`,
	} {
		var mu sync.Mutex
		var seen []string
		var together sync.WaitGroup
		together.Add(3)
		a, err := stream(func(_ context.Context, pk, sk string) error {
			together.Done()
			together.Wait() // no call returns before all calls have begun
			mu.Lock()
			seen = append(seen, pk+"/"+sk)
			mu.Unlock()
			if strings.Contains(fails, sk) {
				if sk == "e1" {
					panic("a bug")
				}
				return errors.New("no")
			}
			return nil
		})(context.Background(), decoded[streamEvent](t, streamBatch))
		if got := answered(t, a, err); got != want {
			t.Errorf("%s fails: %s, want %s", fails, got, want)
		}
		slices.Sort(seen)
		if all := []string{"EVTS#a/e1", "EVTS#a/e2", "EVTS#b/e3"}; !slices.Equal(seen, all) {
			t.Errorf("%s fails: seen %v", fails, seen)
		}
	}
}

func TestAMessageThatFailsOrHangsDelaysNoOther(t *testing.T) {
	batch := decoded[queueEvent](t, `{"Records":[{"messageId":"m1","body":"good"},{"messageId":"m2","body":"bad"},{"messageId":"m3","body":"panic"},{"messageId":"m4","body":"slow"}]}`)
	var good atomic.Int64
	ctx, cancel := context.WithTimeout(context.Background(), deadlineReserve+200*time.Millisecond)
	defer cancel()
	a, err := messages(func(ctx context.Context, body string) error {
		switch body {
		case "bad":
			return errors.New("no")
		case "panic":
			panic("a bug")
		case "slow":
			<-ctx.Done()
			return ctx.Err()
		}
		good.Add(1)
		return nil
	})(ctx, batch)
	want := `{"batchItemFailures":[{"itemIdentifier":"m2"},{"itemIdentifier":"m3"},{"itemIdentifier":"m4"}]}`
	if got := answered(t, a, err); got != want || good.Load() != 1 {
		t.Errorf("%s, want %s; %d good", got, want, good.Load())
	}
	if ctx.Err() != nil {
		t.Error("no time was left to answer")
	}
}

// TestOnlyFailuresAreLogged: the line of a failure has the cause, and the keys or the body.
func TestOnlyFailuresAreLogged(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	defer slog.SetDefault(before)
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r1"})
	for name, c := range map[string]struct {
		run  func(failing func(string) error) error // handles a batch, and calls failing for each item
		want []string                               // texts that the line of e2 must have
	}{
		"a stream": {func(failing func(string) error) error {
			_, err := stream(func(_ context.Context, _, sk string) error { return failing(sk) })(ctx, decoded[streamEvent](t, streamBatch))
			return err
		}, []string{`"pk":"EVTS#a"`, `"sk":"e2"`}},
		"a queue": {func(failing func(string) error) error {
			_, err := messages(func(_ context.Context, body string) error { return failing(body) })(ctx, decoded[queueEvent](t, `{"Records":[{"messageId":"m1","body":"e1"},{"messageId":"m2","body":"e2"}]}`))
			return err
		}, []string{`"body":"e2"`}},
		"a schedule": {func(failing func(string) error) error {
			if err := schedule(func(context.Context) error { return failing("e2") })(ctx, nil); (err == nil) != (failing("e2") == nil) {
				t.Errorf("a run ends with %v", err)
			}
			return nil
		}, nil},
	} {
		log.Reset()
		if err := c.run(func(string) error { return nil }); err != nil || log.Len() != 0 {
			t.Errorf("%s without a fault: %v, logs %s", name, err, &log)
		}
		err := c.run(func(what string) error {
			if what == "e2" {
				return errors.New("the cause")
			}
			return nil
		})
		for _, want := range append(c.want, `"error":"the cause"`, `"requestId":"r1"`, `"level":"ERROR"`) {
			if err != nil || strings.Count(log.String(), want) != 1 {
				t.Errorf("%s: %v, no %s in %s", name, err, want, &log)
			}
		}
	}
}
