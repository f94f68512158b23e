package pump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"latchkey/infra/lab/backing"
	"latchkey/infra/lab/translated"
)

// StreamOptions are the options of a Stream.
type StreamOptions struct {
	Source   translated.EventSource
	Dir      string      // for the checkpoint
	Database string      // the base URL of a DynamoDB Local
	Queues   *sqs.Client // for records that are given up
	Invoke   Invoker
	Watch    Watcher
}

// listEvery is the interval at which readShards looks for new shards.
const listEvery = time.Second

// Stream feeds a function from a table's stream. Within a shard it keeps the order, and repeats a
// record until it succeeds or is given up.
type Stream struct {
	caller
	options StreamOptions
	filters []any
	arn     string // of the stream in the database; events have the ARN in the template
	points  *checkpoints
	skips   chan chan error // calls of Skip, each with the channel for its result
}

// NewStream makes the pump of a mapping. Run runs it. An unknown form of filter, and a table
// without a stream, is an error.
func NewStream(ctx context.Context, o StreamOptions) (*Stream, error) {
	s := &Stream{options: o, skips: make(chan chan error), caller: caller{source: o.Source, invoke: o.Invoke, watch: o.Watch}}
	for _, pattern := range o.Source.Filters {
		f, err := parseFilter(pattern)
		if err != nil {
			return nil, err
		}
		s.filters = append(s.filters, f)
	}
	var described struct {
		Table struct{ LatestStreamArn string }
	}
	if err := s.ask(ctx, "DynamoDB_20120810.DescribeTable", map[string]any{"TableName": o.Source.Table}, &described); err != nil {
		return nil, err
	}
	if s.arn = described.Table.LatestStreamArn; s.arn == "" {
		return nil, fmt.Errorf("table %s was made without a stream (make stack DO=clean-data forgets it)", o.Source.Table)
	}
	var err error
	s.points, err = openCheckpoints(filepath.Join(o.Dir, o.Source.Name+".json"), s.arn)
	return s, err
}

// Run feeds the function until the context ends. It then waits for running calls.
func (s *Stream) Run(ctx context.Context) {
	for ctx.Err() == nil {
		round, cancel := context.WithCancel(ctx) // until the end, or until a call of Skip
		var reading sync.WaitGroup
		reading.Go(func() { s.readShards(round) })
		var reply chan error
		select {
		case <-ctx.Done():
		case reply = <-s.skips:
		}
		cancel()
		reading.Wait()
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
		return <-reply
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
	for errorsInRow := 0; ctx.Err() == nil; {
		shards, err := s.ready(ctx)
		wait := listEvery
		if err != nil {
			errorsInRow++
			wait = backoff(errorsInRow)
			s.tell(ctx, err)
		} else {
			errorsInRow = 0
		}
		for _, id := range shards {
			if running[id] {
				continue
			}
			running[id] = true
			wg.Go(func() {
				(&shard{stream: s, id: id, at: s.points.position(id)}).run(ctx)
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

// ready returns the shards that are not read to their end, and whose parent is or no longer exists.
func (s *Stream) ready(ctx context.Context) (ids []string, err error) {
	parents, err := s.list(ctx)
	for id, parent := range parents {
		_, parentExists := parents[parent]
		isBlocked := parentExists && !s.points.position(parent).Ended
		if !isBlocked && !s.points.position(id).Ended {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// list returns the parent of each shard, or "", by the shard's id.
func (s *Stream) list(ctx context.Context) (map[string]string, error) {
	parents := make(map[string]string)
	in := map[string]any{"StreamArn": s.arn}
	for {
		var out struct {
			StreamDescription struct {
				Shards               []struct{ ShardID, ParentShardID string }
				LastEvaluatedShardID string
			}
		}
		if err := s.askStreams(ctx, "DescribeStream", in, &out); err != nil {
			return nil, err
		}
		for _, sh := range out.StreamDescription.Shards {
			parents[sh.ShardID] = sh.ParentShardID
		}
		last := out.StreamDescription.LastEvaluatedShardID
		if last == "" {
			return parents, nil
		}
		in["ExclusiveStartShardId"] = last
	}
}

// skipAll reads every shard to its present end, and saves that position.
func (s *Stream) skipAll(ctx context.Context) error {
	shards, err := s.list(ctx)
	if err != nil {
		return err
	}
	for id := range shards {
		h := shard{stream: s, id: id, at: s.points.position(id)}
		for empty := 0; empty < 2 && !h.at.Ended; { // one empty answer may come before the end
			records, err := h.next(ctx)
			if err != nil {
				return err
			}
			empty++
			if len(records) > 0 {
				empty = 0
			}
		}
		if err := s.points.set(id, h.at); err != nil {
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

func (s *Stream) fits(tree any) bool {
	return len(s.filters) == 0 || slices.ContainsFunc(s.filters, func(filter any) bool { return fits(filter, tree) })
}

// isDatabaseError reports whether the database has answered with an exception.
func isDatabaseError(err error, exception string) bool {
	var answered *backing.CallError
	return errors.As(err, &answered) && strings.HasSuffix(answered.Type, "#"+exception)
}

func (s *Stream) askStreams(ctx context.Context, action string, in map[string]any, out any) error {
	return s.ask(ctx, "DynamoDBStreams_20120810."+action, in, out)
}

// ask makes one request to the database, with a time limit. It does not use the SDK: the SDK would parse the records,
// but Lambda passes them on in the database's JSON.
func (s *Stream) ask(ctx context.Context, target string, in map[string]any, out any) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := backing.CallDynamoDB(ctx, s.options.Database, target, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, out)
}
