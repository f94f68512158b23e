package pump

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// reader reads one shard.
type reader struct {
	stream   *Stream
	id       string
	at       position // where to begin; Ended is set when no more records come
	iterator *string
}

// next returns the following records, if there are any yet. After an error it goes on from at,
// which the caller moves.
func (r *reader) next(ctx context.Context) ([]types.Record, error) {
	records, err := r.read(ctx)
	var trimmed *types.TrimmedDataAccessException
	switch {
	case err == nil:
		return records, nil
	case isGone(err):
		r.at.Ended = true
		return nil, nil
	case errors.As(err, &trimmed):
		r.at.After = "" // the position is too old: read from the oldest record
	}
	r.iterator = nil
	return nil, err
}

func (r *reader) read(ctx context.Context) ([]types.Record, error) {
	client := r.stream.options.Streams
	if r.iterator == nil {
		in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &r.stream.arn, ShardId: &r.id, ShardIteratorType: types.ShardIteratorTypeTrimHorizon}
		if r.at.After != "" {
			in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &r.at.After
		}
		out, err := ask(ctx, client.GetShardIterator, in)
		if err != nil {
			return nil, err
		}
		r.iterator = out.ShardIterator
	}
	out, err := ask(ctx, client.GetRecords, &dynamodbstreams.GetRecordsInput{ShardIterator: r.iterator, Limit: aws.Int32(1000)})
	if err != nil {
		return nil, err
	}
	r.iterator = out.NextShardIterator
	r.at.Ended = r.iterator == nil
	return out.Records, nil
}

// shard feeds the function from one shard.
type shard struct {
	stream  *Stream
	id      string
	pending []record // records that fit the filter and wait for a batch
	since   time.Time
}

// run reads the shard to its end, or until the context ends.
func (h *shard) run(ctx context.Context) {
	r := reader{stream: h.stream, id: h.id, at: h.stream.points.of(h.id)}
	for wrong := 0; ctx.Err() == nil && !r.at.Ended; {
		records, err := r.next(ctx)
		if err != nil {
			wrong++
			h.stream.tell(ctx, err)
			_ = sleep(ctx, backoff(wrong))
			continue
		}
		wrong = 0
		h.stream.trouble(nil)
		if len(records) > 0 {
			r.at.After = aws.ToString(records[len(records)-1].Dynamodb.SequenceNumber)
		}
		h.gather(records)
		if h.flush(ctx, r.at.Ended) != nil {
			return
		}
		if len(h.pending) == 0 && (len(records) > 0 || r.at.Ended) {
			h.done(r.at) // records that do not fit the filter are finished too
		}
		if len(records) == 0 {
			_ = sleep(ctx, pollEvery)
		}
	}
}

// gather adds the records that fit the filters to pending.
func (h *shard) gather(records []types.Record) {
	for _, raw := range records {
		r, tree, err := newRecord(raw, h.stream.options.Source.ARN)
		if err != nil {
			h.stream.trouble(err)
			continue
		}
		if !h.stream.fits(tree) {
			continue
		}
		if len(h.pending) == 0 {
			h.since = time.Now()
		}
		h.pending = append(h.pending, r)
	}
}

func (s *Stream) fits(tree map[string]any) bool {
	for _, f := range s.filters {
		if f.fits(tree) {
			return true
		}
	}
	return len(s.filters) == 0
}

// flush delivers full batches. It delivers a smaller one at the end of its window or of the shard.
// It fails only when the pump ends.
func (h *shard) flush(ctx context.Context, last bool) error {
	source := h.stream.options.Source
	for len(h.pending) > 0 {
		if len(h.pending) < source.BatchSize && !last && time.Since(h.since) < source.Window {
			return nil
		}
		n := min(len(h.pending), source.BatchSize)
		if err := h.deliver(ctx, h.pending[:n], 0); err != nil {
			return err
		}
		h.pending = h.pending[n:]
	}
	return nil
}

// done saves the position in the shard.
func (h *shard) done(p position) {
	if err := h.stream.points.set(h.id, p); err != nil {
		h.stream.trouble(err)
	}
}
