package pump

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"latchkey/infra/lab/backing"
	"latchkey/infra/lab/translated"
)

// deliver calls the function until every record has succeeded or is given up, and moves the
// checkpoint behind each finished record. errors is how often these records have failed already. It
// fails only when the pump ends.
//
// When the function reports a record as failed, the records before it are finished and the batch
// begins there. When it fails on the first record, or for all, the batch is split if the mapping
// says so. Neither counts as a try (Lambda, "Discarding failed records").
func (h *shard) deliver(ctx context.Context, records []record, errors int) error {
	for tries := errors; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		from, err := h.call(ctx, records)
		if from > 0 {
			h.done(position{After: records[from-1].sequence})
			tries = 0
		}
		records = records[from:]
		switch {
		case len(records) == 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case from > 0:
			continue
		case len(records) > 1 && h.stream.options.Source.Bisect:
			return h.bisect(ctx, records, tries)
		}
		tries++
		if h.exhausted(tries) {
			h.giveUp(ctx, records, tries, err)
			h.done(position{After: records[len(records)-1].sequence})
			return nil
		}
		if err := sleep(ctx, backoff(tries)); err != nil {
			return err
		}
	}
}

// bisect delivers the halves of a batch.
func (h *shard) bisect(ctx context.Context, records []record, tries int) error {
	n := len(records) / 2
	if err := h.deliver(ctx, records[:n], tries); err != nil {
		return err
	}
	return h.deliver(ctx, records[n:], tries)
}

func (h *shard) exhausted(tries int) bool {
	most := h.stream.options.Source.Retries
	return most >= 0 && tries > most
}

// call calls the function, and returns how many records from the first on are finished.
func (h *shard) call(ctx context.Context, records []record) (int, error) {
	events, ids := make([]json.RawMessage, len(records)), make([]string, len(records))
	for i, r := range records {
		events[i], ids[i] = r.event, r.sequence
	}
	failed, err := h.stream.call(ctx, events, ids)
	for i, id := range ids {
		if failed[id] {
			return i, err
		}
	}
	return len(records), nil
}

// sendTries is how often the pump tries to send a message about records that were given up. Then
// the message is lost, as on Lambda.
const sendTries = 5

// giveUp sends a message to the mapping's queue that says where the records are. It has no record.
func (h *shard) giveUp(ctx context.Context, records []record, calls int, cause error) {
	source := h.stream.options.Source
	if source.OnFailure == "" {
		return
	}
	message, err := json.Marshal(h.failure(records, calls, cause))
	if err != nil {
		h.stream.trouble(err)
		return
	}
	for try := 1; try <= sendTries; try++ {
		in := &sqs.SendMessageInput{QueueUrl: &source.OnFailure, MessageBody: aws.String(string(message))}
		if _, err = ask(ctx, h.stream.options.Queues.SendMessage, in); err == nil {
			return
		}
		h.stream.tell(ctx, err)
		if sleep(ctx, backoff(try)) != nil {
			return
		}
	}
}

// failure returns Lambda's message about records of a stream.
func (h *shard) failure(records []record, calls int, cause error) map[string]any {
	source := h.stream.options.Source
	first, last := records[0], records[len(records)-1]
	response := map[string]any{"statusCode": 200, "executedVersion": "$LATEST"}
	if cause != nil {
		response["functionError"] = "Unhandled"
	}
	return map[string]any{
		"requestContext": map[string]any{
			"requestId":   first.sequence,
			"functionArn": "arn:aws:lambda:" + backing.Region + ":" + translated.AccountID + ":function:" + source.Function,
			"condition":   "RetryAttemptsExhausted", "approximateInvokeCount": calls,
		},
		"responseContext": response, "version": "1.0", "timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"DDBStreamBatchInfo": map[string]any{
			"shardId": h.id, "startSequenceNumber": first.sequence, "endSequenceNumber": last.sequence,
			"approximateArrivalOfFirstRecord": first.created.UTC().Format(time.RFC3339),
			"approximateArrivalOfLastRecord":  last.created.UTC().Format(time.RFC3339),
			"batchSize":                       len(records), "streamArn": source.ARN,
		},
	}
}
