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
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/template/translated"
)

// StreamOptions are the options of a Stream.
type StreamOptions struct {
	Source   translated.EventSource
	Dir      string      // the folder for the checkpoint
	Database string      // the base URL of a DynamoDB Local
	Queues   *sqs.Client // for messages about records that are given up
	Invoke   Invoker
	Watch    Watcher
}

// listEvery is the interval at which Run looks for new shards.
const listEvery = time.Second

// Stream feeds a function from a table's stream. Within a shard it keeps the order, and repeats a
// record until it succeeds or is given up.
type Stream struct {
	caller
	options StreamOptions
	filters []any
	arn     string // ARN of the stream in the database; events have the ARN in the template
	points  *checkpoints
	skips   atomic.Bool // see Skip
}

// NewStream makes the pump of a mapping. Run runs it. An unknown form of filter is an error, and so is a table without a stream.
func NewStream(ctx context.Context, o StreamOptions) (*Stream, error) {
	s := &Stream{options: o, caller: caller{source: o.Source, invoke: o.Invoke, watch: o.Watch}}
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
	if err := s.callDatabase(ctx, "DynamoDB_20120810.DescribeTable", map[string]any{"TableName": o.Source.Table}, &described); err != nil {
		return nil, err
	}
	if s.arn = described.Table.LatestStreamArn; s.arn == "" {
		return nil, fmt.Errorf("table %s has no stream: the template must give it a StreamSpecification", o.Source.Table)
	}
	var err error
	s.points, err = openCheckpoints(filepath.Join(o.Dir, o.Source.Name+".json"), s.arn)
	return s, err
}

// Skip makes the stream lose records from now on: new records, and failed ones that would come again. False ends this.
func (s *Stream) Skip(on bool) { s.skips.Store(on) }

// Run feeds the function until the context ends. It reads each shard after its parent. At the end it waits for running calls.
func (s *Stream) Run(ctx context.Context) {
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
			s.trouble(ctx, err)
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
				case ended <- struct{}{}: // the shard's children can be read now
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

// ready returns the shards that can be read: they are not read to their end, and their parent is, or it no longer exists.
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

// list returns the parent of each shard by the shard's id; "": no parent.
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
		if err := s.callDatabase(ctx, "DynamoDBStreams_20120810.DescribeStream", in, &out); err != nil {
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

func (s *Stream) fits(tree any) bool {
	return len(s.filters) == 0 || slices.ContainsFunc(s.filters, func(filter any) bool { return fits(filter, tree) })
}

// isDatabaseError reports whether the database has answered with an exception.
func isDatabaseError(err error, exception string) bool {
	var answered *backing.CallError
	return errors.As(err, &answered) && strings.HasSuffix(answered.Type, "#"+exception)
}

// callDatabase makes one request to the database, with a time limit. It does not use the SDK: the SDK would parse the records,
// but Lambda passes them on in the database's JSON.
func (s *Stream) callDatabase(ctx context.Context, target string, in map[string]any, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := backing.Call(ctx, s.options.Database, "dynamodb", target, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, out)
}
