package pump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// record is a record of a stream. event has the form of a record in Lambda's event.
type record struct {
	sequence string
	created  time.Time
	event    json.RawMessage
}

// shard feeds the function from one shard.
type shard struct {
	stream   *Stream
	id       string
	at       position // the end of the read part
	iterator string   // DynamoDB's iterator for the next records; "": none
}

// next returns new records after at, if there are any, and moves at to their end. After an error the next call reads from at
// again.
func (h *shard) next(ctx context.Context) ([]map[string]any, error) {
	records, err := h.read(ctx)
	switch {
	case err == nil:
		return records, nil
	case isDatabaseError(err, "ResourceNotFoundException"): // the shard has expired, although the list may still have it
		h.at.Ended = true
		return nil, nil
	case isDatabaseError(err, "TrimmedDataAccessException"):
		h.at.After = "" // the position is too old, so read from the oldest record
	}
	h.iterator = ""
	return nil, err
}

func (h *shard) read(ctx context.Context) ([]map[string]any, error) {
	if h.iterator == "" {
		in := map[string]any{"StreamArn": h.stream.arn, "ShardId": h.id, "ShardIteratorType": "TRIM_HORIZON"}
		if h.at.After != "" {
			in["ShardIteratorType"], in["SequenceNumber"] = "AFTER_SEQUENCE_NUMBER", h.at.After
		}
		var out struct{ ShardIterator string }
		if err := h.stream.callDatabase(ctx, "DynamoDBStreams_20120810.GetShardIterator", in, &out); err != nil {
			return nil, err
		}
		h.iterator = out.ShardIterator
	}
	var out struct {
		Records           []map[string]any
		NextShardIterator string
	}
	if err := h.stream.callDatabase(ctx, "DynamoDBStreams_20120810.GetRecords", map[string]any{"ShardIterator": h.iterator, "Limit": 1000}, &out); err != nil {
		return nil, err
	}
	h.iterator, h.at.Ended = out.NextShardIterator, out.NextShardIterator == ""
	if n := len(out.Records); n > 0 {
		h.at.After = sequenceOf(out.Records[n-1])
	}
	return out.Records, nil
}

// run reads the shard to its end, or until the context ends.
func (h *shard) run(ctx context.Context) {
	for errorsInRow := 0; ctx.Err() == nil && !h.at.Ended; {
		records, err := h.next(ctx)
		if err != nil {
			errorsInRow++
			h.stream.trouble(ctx, err)
			_ = tools.Sleep(ctx, backoff(errorsInRow))
			continue
		}
		errorsInRow = 0
		h.stream.trouble(ctx, nil)
		for batch := range slices.Chunk(h.fitting(ctx, records), h.stream.options.Source.BatchSize) {
			if h.deliver(ctx, batch, 0) != nil {
				return
			}
		}
		if len(records) > 0 || h.at.Ended {
			h.save(ctx, h.at) // this also finishes records that do not fit the filter
			continue
		}
		_ = tools.Sleep(ctx, pollEvery)
	}
}

// fitting returns the records that fit the filters.
func (h *shard) fitting(ctx context.Context, records []map[string]any) (out []record) {
	for _, tree := range records {
		tree["eventSourceARN"] = h.stream.options.Source.ARN
		if !h.stream.fits(tree) {
			continue
		}
		event, err := json.Marshal(tree)
		if err != nil {
			h.stream.trouble(ctx, err)
			continue
		}
		content, _ := tree["dynamodb"].(map[string]any)
		seconds, _ := content["ApproximateCreationDateTime"].(float64)
		out = append(out, record{sequenceOf(tree), time.Unix(int64(math.Floor(seconds)), 0), event})
	}
	return out
}

func sequenceOf(tree map[string]any) string {
	content, _ := tree["dynamodb"].(map[string]any)
	sequence, _ := content["SequenceNumber"].(string)
	return sequence
}

// save writes the position in the shard into the checkpoints.
func (h *shard) save(ctx context.Context, p position) {
	if err := h.stream.points.set(h.id, p); err != nil {
		h.stream.trouble(ctx, err)
	}
}

// deliver calls the function until every record has succeeded or is given up. It moves the checkpoint after each finished record.
// tries is the number of times that these records have failed before. deliver returns an error only when the pump ends.
//
// When the function reports a record as failed, the records before it are finished, and the next batch
// begins with it. When the first record or the whole call fails, and the mapping has Bisect, the batch is split in two. Neither
// counts as a try (Lambda, "Discarding failed records"). A throttled call is repeated: it does not count as a try and splits
// nothing, because the function got no record. This last rule is assumed; no recording of AWS shows it.
func (h *shard) deliver(ctx context.Context, records []record, tries int) error {
	for throttled := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if h.stream.skips.Load() { // skip these records without a call
			h.save(ctx, position{After: records[len(records)-1].sequence})
			return nil
		}
		from, err := h.call(ctx, records) // the index of the first failed record
		if from > 0 {
			h.save(ctx, position{After: records[from-1].sequence})
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
		case errors.Is(err, lambda.ErrThrottled):
			throttled++
			_ = tools.Sleep(ctx, backoff(throttled)) // the loop checks ctx
			continue
		case len(records) > 1 && h.stream.options.Source.Bisect:
			half := len(records) / 2
			if err := h.deliver(ctx, records[:half], tries); err != nil {
				return err
			}
			return h.deliver(ctx, records[half:], tries)
		}
		tries++
		if most := h.stream.options.Source.Retries; most >= 0 && tries > most {
			h.giveUp(ctx, records, tries, err)
			h.save(ctx, position{After: records[len(records)-1].sequence})
			return nil
		}
		if err := tools.Sleep(ctx, backoff(tries)); err != nil {
			return err
		}
	}
}

// call calls the function, and returns the number of finished records before the first failed one.
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

// sendTries is the number of tries to send a message about records that were given up. Then
// the message is lost, as on Lambda.
const sendTries = 5

// giveUp sends a message about the records to the mapping's queue. The message has the records' positions, but not the records.
func (h *shard) giveUp(ctx context.Context, records []record, calls int, cause error) {
	source := h.stream.options.Source
	if source.OnFailure == "" {
		return
	}
	message, err := json.Marshal(h.failure(records, calls, cause))
	if err != nil {
		h.stream.trouble(ctx, err)
		return
	}
	for try := 1; try <= sendTries; try++ {
		in := &sqs.SendMessageInput{QueueUrl: &source.OnFailure, MessageBody: aws.String(string(message))}
		if _, err = callSQS(ctx, h.stream.options.Queues.SendMessage, in); err == nil {
			return
		}
		h.stream.trouble(ctx, err)
		if tools.Sleep(ctx, backoff(try)) != nil {
			return
		}
	}
}

// failure returns Lambda's message about records of a stream.
func (h *shard) failure(records []record, calls int, cause error) map[string]any {
	source := h.stream.options.Source
	first, last := records[0], records[len(records)-1]
	response := map[string]any{"statusCode": 200, "executedVersion": "$LATEST", "functionError": nil}
	if cause != nil {
		response["functionError"] = "Unhandled"
	}
	return map[string]any{
		"requestContext": map[string]any{
			"requestId":   first.sequence,
			"functionArn": translated.ARN("lambda", "function:"+source.Function),
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

// position is the end of the read part of a shard.
type position struct {
	After string `json:"after,omitempty"` // sequence number; "": nothing was read
	Ended bool   `json:"ended,omitempty"` // the shard was read to its end, and gets no more records
}

// checkpoints keeps the positions in a stream, in a file that survives restarts.
type checkpoints struct {
	path string

	mu    sync.Mutex
	state struct {
		Stream string              `json:"stream"` // ARN of the stream that the positions belong to
		Shards map[string]position `json:"shards"`
	}
}

// openCheckpoints reads the file.
func openCheckpoints(path, stream string) (*checkpoints, error) {
	c := &checkpoints{path: path}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &c.state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.state.Stream != stream || c.state.Shards == nil {
		c.state.Stream, c.state.Shards = stream, make(map[string]position)
	}
	return c, nil
}

// position returns the position of a shard; the zero value: no record was read.
func (c *checkpoints) position(shard string) position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Shards[shard]
}

// set writes a position to the file.
func (c *checkpoints) set(shard string, p position) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Shards[shard] = p
	text, err := json.MarshalIndent(c.state, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o755); err != nil {
		return err
	}
	next := c.path + ".new"
	if err := os.WriteFile(next, text, 0o644); err != nil {
		return err
	}
	return os.Rename(next, c.path)
}
