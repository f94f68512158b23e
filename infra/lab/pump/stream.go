package pump

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"latchkey/infra/lab/translated"
)

// StreamOptions are the options of a Stream.
type StreamOptions struct {
	Source  translated.EventSource
	Dir     string // for the checkpoint
	DB      *dynamodb.Client
	Streams *dynamodbstreams.Client
	Queues  *sqs.Client // for records that are given up
	Invoke  Invoker
	Watch   Watcher
}

// listEvery is how often new shards are looked for.
const listEvery = time.Second

// Stream feeds a function from a table's stream. Within a shard it keeps the order, and repeats a
// record until it succeeds or is given up.
type Stream struct {
	caller
	options StreamOptions
	filters []filter
	arn     string // the database's; events have the template's
	points  *checkpoints
	fresh   bool // nothing of this stream was ever read
	skips   chan chan error
}

// NewStream makes the pump of a mapping. Run runs it. An unknown form of filter, and a table
// without a stream, is an error.
func NewStream(ctx context.Context, o StreamOptions) (*Stream, error) {
	s := &Stream{
		options: o, skips: make(chan chan error),
		caller: caller{source: o.Source.Name, function: o.Source.Function, partial: o.Source.Partial, invoke: o.Invoke, watch: o.Watch},
	}
	for _, pattern := range o.Source.Filters {
		f, err := parseFilter(pattern)
		if err != nil {
			return nil, err
		}
		s.filters = append(s.filters, f)
	}
	table, err := o.DB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &o.Source.Table})
	if err != nil {
		return nil, err
	}
	if s.arn = aws.ToString(table.Table.LatestStreamArn); s.arn == "" {
		return nil, fmt.Errorf("table %s was made without a stream (make stack DO=clean-data forgets it)", o.Source.Table)
	}
	s.points, s.fresh, err = openCheckpoints(filepath.Join(o.Dir, o.Source.Name+".json"), s.arn)
	return s, err
}

// Run feeds the function until the context ends. It then waits for running calls.
func (s *Stream) Run(ctx context.Context) {
	for ctx.Err() == nil {
		round, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.readShards(round)
		}()
		var reply chan error
		select {
		case <-ctx.Done():
		case reply = <-s.skips:
		}
		cancel()
		<-done
		if reply != nil {
			reply <- s.skipAll(ctx)
		}
	}
}

// Skip moves behind all records that are in the stream now, without delivering them. It waits for
// running calls first. If their records fail, they are not tried again.
func (s *Stream) Skip(ctx context.Context) error {
	reply := make(chan error, 1)
	select {
	case s.skips <- reply:
	case <-ctx.Done():
		return fmt.Errorf("skipping the stream: %w", ctx.Err())
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return fmt.Errorf("skipping the stream: %w", ctx.Err())
	}
}

// readShards reads every shard after its parent, until the context ends.
func (s *Stream) readShards(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	running := make(map[string]bool)
	ended := make(chan struct{}, 1)
	for wrong := 0; ctx.Err() == nil; {
		shards, err := s.ready(ctx)
		wait := listEvery
		if err != nil {
			wrong++
			wait = backoff(wrong)
			s.tell(ctx, err)
		} else {
			wrong = 0
		}
		for _, id := range shards {
			if running[id] {
				continue
			}
			running[id] = true
			wg.Go(func() {
				(&shard{stream: s, id: id}).run(ctx)
				select {
				case ended <- struct{}{}: // its children can be read now
				default:
				}
			})
		}
		select {
		case <-ctx.Done():
		case <-ended:
		case <-time.After(wait):
		}
	}
}

// ready returns the shards to read: those not read to their end whose parent is. The first time, a
// mapping from LATEST skips all records that are there.
func (s *Stream) ready(ctx context.Context) ([]string, error) {
	if s.fresh && s.options.Source.FromLatest {
		if err := s.skipAll(ctx); err != nil {
			return nil, err
		}
	}
	s.fresh = false
	shards, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	listed := make(map[string]bool)
	for _, sh := range shards {
		listed[aws.ToString(sh.ShardId)] = true
	}
	if err := s.points.keep(listed); err != nil {
		return nil, err
	}
	var out []string
	for _, sh := range shards {
		id, parent := aws.ToString(sh.ShardId), aws.ToString(sh.ParentShardId)
		if !s.points.of(id).Ended && (!listed[parent] || s.points.of(parent).Ended) {
			out = append(out, id)
		}
	}
	return out, nil
}

func (s *Stream) list(ctx context.Context) ([]types.Shard, error) {
	var out []types.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn}
	for {
		answer, err := ask(ctx, s.options.Streams.DescribeStream, in)
		if err != nil {
			return nil, err
		}
		out = append(out, answer.StreamDescription.Shards...)
		in.ExclusiveStartShardId = answer.StreamDescription.LastEvaluatedShardId
		if in.ExclusiveStartShardId == nil {
			return out, nil
		}
	}
}

// skipAll reads every shard to its present end, and saves that position.
func (s *Stream) skipAll(ctx context.Context) error {
	shards, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, sh := range shards {
		r := reader{stream: s, id: aws.ToString(sh.ShardId), at: s.points.of(aws.ToString(sh.ShardId))}
		for empty := 0; empty < 2 && !r.at.Ended; {
			records, err := r.next(ctx)
			if err != nil {
				return err
			}
			empty++
			if len(records) > 0 {
				empty = 0
				r.at.After = aws.ToString(records[len(records)-1].Dynamodb.SequenceNumber)
			}
		}
		if r.at == (position{}) {
			continue // it is empty
		}
		if err := s.points.set(r.id, r.at); err != nil {
			return err
		}
	}
	return nil
}

// tell reports an error to the watcher, unless the pump is ending.
func (s *Stream) tell(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.trouble(err)
	}
}

// ask makes one request with a time limit. The client must not retry: the pumps wait between errors.
func ask[In, Out, Opt any](ctx context.Context, do func(context.Context, *In, ...func(*Opt)) (*Out, error), in *In) (*Out, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return do(ctx, in)
}

// isGone reports whether a shard has expired. It may still be listed.
func isGone(err error) bool {
	var gone *types.ResourceNotFoundException
	return errors.As(err, &gone)
}
