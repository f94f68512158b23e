package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const streamBatch = `{"Records":[
 {"eventID":"1","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"EVTS#a"},"SK":{"S":"e1"}},"SequenceNumber":"100","NewImage":{"PK":{"S":"EVTS#a"}}}},
 {"eventID":"2","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"EVTS#a"},"SK":{"S":"e2"}},"SequenceNumber":"200"}},
 {"eventID":"3","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"EVTS#b"},"SK":{"S":"e3"}},"SequenceNumber":"300"}}]}`

func decoded[T any](t *testing.T, text string) (e T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func answered(t *testing.T, a batchAnswer, err error) string {
	t.Helper()
	text, marshal := json.Marshal(a)
	if err != nil || marshal != nil {
		t.Fatal(err, marshal)
	}
	return string(text)
}

// TestFromARecordThatFailsTheBatchIsGivenBack although all its records are tried, at the same time.
func TestFromARecordThatFailsTheBatchIsGivenBack(t *testing.T) {
	for fails, want := range map[string]string{
		"":      `{"batchItemFailures":[]}`,
		"e1":    `{"batchItemFailures":[{"itemIdentifier":"100"}]}`,
		"e2":    `{"batchItemFailures":[{"itemIdentifier":"200"}]}`,
		"e2 e3": `{"batchItemFailures":[{"itemIdentifier":"200"}]}`, // Lambda sends the later ones again with it
		"e1 e3": `{"batchItemFailures":[{"itemIdentifier":"100"}]}`,
	} {
		var mu sync.Mutex
		var seen []string
		var together sync.WaitGroup
		together.Add(3)
		a, err := stream(func(_ context.Context, pk, sk string) error {
			together.Done()
			together.Wait() // none comes back before all have begun
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

func TestAMessageThatFailsOrHangsHoldsUpNoOther(t *testing.T) {
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
