package lab

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/harness/lab/pump"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// startPumps starts to feed the functions from the streams and queues that the template maps to them, and to call
// each scheduled function at its interval.
func (s *Stack) startPumps(ctx, background context.Context) error {
	sources, err := s.Template.EventSources()
	if err != nil {
		return err
	}
	// The client does not retry, because the pumps wait after an error.
	queues := sqs.New(backing.NewSQSClient(s.DataPlane.SQS).Options(), func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} })
	watch := pump.Watcher{Called: s.logCall, Received: s.options.Received, Trouble: func(source string, err error) {
		s.options.Progress(fmt.Sprintf("%s: %v", source, err))
	}}
	var run []func(context.Context)
	for _, source := range sources {
		if source.Table == "" {
			run = append(run, pump.NewQueue(source, queues, s.Lambda.Invoke, watch).Run)
			continue
		}
		p, err := pump.NewStream(ctx, pump.StreamOptions{
			Source: source, Dir: filepath.Join(s.dir, "streams"), Database: s.DataPlane.DynamoDB,
			Queues: queues, Invoke: s.Lambda.Invoke, Watch: watch,
		})
		if err != nil {
			return fmt.Errorf("event source mapping %s: %w", source.Name, err)
		}
		s.streams = append(s.streams, p)
		run = append(run, p.Run)
	}
	for name, handle := range s.options.Buses {
		run = append(run, func(ctx context.Context) { s.forwardBus(ctx, name, handle) })
	}
	for _, sc := range s.schedules {
		run = append(run, func(ctx context.Context) { s.keepCalling(ctx, sc) })
	}
	for _, r := range run {
		s.feeding.Go(func() { r(background) })
	}
	return nil
}

// forwardBus passes each event of a bus to handle until the context ends. It continues after a restart of the queue server.
func (s *Stack) forwardBus(ctx context.Context, bus string, handle func(event string)) {
	for ctx.Err() == nil {
		err := backing.ReceiveAll(ctx, backing.NewSQSClient(s.DataPlane.SQS), s.buses[bus], handle)
		if ctx.Err() == nil {
			s.options.Progress(fmt.Sprintf("event bus %s: %v", bus, err))
			time.Sleep(time.Second)
		}
	}
}

// logCall writes one line about a call of a function by a pump or a schedule.
func (s *Stack) logCall(c pump.Call) {
	note := ""
	if c.Failed > 0 {
		note = fmt.Sprintf(", %d failed", c.Failed)
	}
	if c.Err != nil {
		note += ": " + c.Err.Error()
	}
	s.requests.Printf("%s %d records %s%s", c.Source, c.Records, c.Took.Round(100*time.Microsecond), note)
}

// SkipStreams makes the streams lose their records from now on, so that no function gets them. False ends this.
func (s *Stack) SkipStreams(on bool) {
	for _, p := range s.streams {
		p.Skip(on)
	}
}

// QueueDepth returns the number of messages in a queue, also of those that are received or delayed. queue is its logical id.
func (s *Stack) QueueDepth(ctx context.Context, queue string) (depth int, err error) {
	url, err := s.QueueURL(queue)
	if err != nil {
		return 0, err
	}
	out, err := backing.NewSQSClient(s.DataPlane.SQS).GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return 0, err
	}
	for _, state := range []string{"", "NotVisible", "Delayed"} {
		n, errNumber := strconv.Atoi(out.Attributes["ApproximateNumberOfMessages"+state])
		depth, err = depth+n, errors.Join(err, errNumber)
	}
	return depth, err
}

// QueueURL returns the URL of a queue, for a client of DataPlane.SQS. queue is its logical id.
func (s *Stack) QueueURL(queue string) (string, error) {
	queues, err := s.Template.Queues()
	for _, q := range queues {
		if q.ID == queue {
			return q.URL, nil
		}
	}
	return "", errors.Join(err, fmt.Errorf("the template has no queue %s", queue))
}

// serialSchedule is a schedule whose calls never overlap.
type serialSchedule struct {
	translated.Schedule
	mu sync.Mutex
}

// callAllSchedules calls each scheduled function once, so that its work is done before the first
// request. On AWS the first call comes after the first interval.
func (s *Stack) callAllSchedules(ctx context.Context) error {
	for _, sc := range s.schedules {
		if err := s.callOnce(ctx, sc); err != nil {
			return fmt.Errorf("schedule %s: %w (see %s/%s.log)", sc.Name, err, s.LogDir, sc.Function)
		}
	}
	return nil
}

// interval returns the time between two calls of a schedule. Options.Minute sets the real length of a minute.
func (s *Stack) interval(sc *serialSchedule) time.Duration {
	return time.Duration(float64(sc.Every) / float64(time.Minute) * float64(cmp.Or(s.options.Minute, time.Minute)))
}

// keepCalling calls a scheduled function at its interval. When a call takes longer than the interval, it skips the missed calls.
func (s *Stack) keepCalling(ctx context.Context, sc *serialSchedule) {
	tick := time.NewTicker(s.interval(sc))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.callOnce(ctx, sc); err != nil && ctx.Err() == nil {
			s.options.Progress(fmt.Sprintf("schedule %s: %v", sc.Name, err))
		}
	}
}

// RunSchedule calls a scheduled function now, with the event of its schedule, and returns
// the function's error. function is its logical id. RunSchedule first waits for the end of a running call of the schedule.
func (s *Stack) RunSchedule(ctx context.Context, function string) error {
	for _, sc := range s.schedules {
		if sc.Function == function {
			return s.callOnce(ctx, sc)
		}
	}
	return fmt.Errorf("the template has no schedule for %s", function)
}

// callOnce calls the function of a schedule with the event that EventBridge would send. It first waits for the end of a running
// call of the schedule. By AWS's documentation ("How Lambda handles errors and retries with asynchronous invocation"), Lambda
// retries a throttled event after 1 s, 2 s, 4 s and so on. callOnce does so until the next event is due; it does not read
// MaximumEventAgeInSeconds.
func (s *Stack) callOnce(ctx context.Context, sc *serialSchedule) error {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	payload, err := json.Marshal(map[string]any{
		"version": "0", "id": rand.Text(), "detail-type": "Scheduled Event", "source": "aws.events",
		"account": translated.AccountID, "region": backing.Region, "time": time.Now().UTC().Format(time.RFC3339),
		"resources": []string{sc.ARN}, "detail": map[string]any{},
	})
	if err != nil {
		return err
	}
	begun := time.Now()
	for wait := time.Second; ; wait *= 2 {
		_, err = s.Lambda.Invoke(ctx, sc.Function, payload)
		if !errors.Is(err, lambda.ErrThrottled) || time.Since(begun)+wait > s.interval(sc) || tools.Sleep(ctx, wait) != nil {
			break
		}
	}
	if ctx.Err() == nil { // otherwise the stack is closing
		failed := 0
		if err != nil {
			failed = 1
		}
		s.logCall(pump.Call{Source: sc.Name, Records: 1, Failed: failed, Err: err, Took: time.Since(begun)})
	}
	return err
}
