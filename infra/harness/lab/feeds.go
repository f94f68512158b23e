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
	sources, err := s.template.EventSources()
	if err != nil {
		return err
	}
	// The client does not retry: the pumps wait between errors themselves.
	queues := sqs.New(backing.NewSQSClient(s.DataPlane.SQS).Options(), func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} })
	watch := pump.Watcher{Called: s.logCall, Received: s.options.Received, Trouble: func(source string, err error) {
		s.options.Progress(fmt.Sprintf("%s: %v", source, err))
	}}
	var run []func(context.Context)
	for _, source := range sources {
		if source.Table == "" {
			run = append(run, pump.NewQueue(source, queues, s.lambda.Invoke, watch).Run)
			continue
		}
		p, err := pump.NewStream(ctx, pump.StreamOptions{
			Source: source, Dir: filepath.Join(s.dir, "streams"), Database: s.DataPlane.DynamoDB,
			Queues: queues, Invoke: s.lambda.Invoke, Watch: watch,
		})
		if err != nil {
			return fmt.Errorf("event source mapping %s: %w", source.Name, err)
		}
		s.streams = append(s.streams, p)
		run = append(run, p.Run)
	}
	for name, take := range s.options.Buses {
		run = append(run, func(ctx context.Context) { s.forwardBus(ctx, name, take) })
	}
	for _, sc := range s.schedules {
		run = append(run, func(ctx context.Context) { s.keepCalling(ctx, sc) })
	}
	for _, r := range run {
		s.feeding.Go(func() { r(background) })
	}
	return nil
}

// forwardBus passes on each event of a bus until the context ends, also after the queue server restarts.
func (s *Stack) forwardBus(ctx context.Context, bus string, take func(event string)) {
	for ctx.Err() == nil {
		err := backing.ReceiveAll(ctx, backing.NewSQSClient(s.DataPlane.SQS), s.buses[bus], take)
		if ctx.Err() == nil {
			s.options.Progress(fmt.Sprintf("event bus %s: %v", bus, err))
			time.Sleep(time.Second)
		}
	}
}

// logCall writes one line about a call of a function by a pump or a schedule.
func (s *Stack) logCall(c pump.Call) {
	if s.requests == nil {
		return
	}
	note := ""
	if c.Failed > 0 {
		note = fmt.Sprintf(", %d failed", c.Failed)
	}
	if c.Err != nil {
		note += ": " + c.Err.Error()
	}
	s.requests.Printf("%s %d records %s%s", c.Source, c.Records, c.Took.Round(100*time.Microsecond), note)
}

// SkipStreams makes the streams lose the records that they have from now on: no function gets them. False ends that.
func (s *Stack) SkipStreams(on bool) {
	for _, p := range s.streams {
		p.Skip(on)
	}
}

// Depth has the numbers of messages in a queue.
type Depth struct {
	Visible  int `json:"visible"`
	InFlight int `json:"inFlight"` // received, and not yet deleted or visible again
	Delayed  int `json:"delayed"`
}

// QueueDepth counts the messages of a queue, by its logical id.
func (s *Stack) QueueDepth(ctx context.Context, queue string) (Depth, error) {
	q, err := s.queueNamed(queue)
	if err != nil {
		return Depth{}, err
	}
	out, err := backing.NewSQSClient(s.DataPlane.SQS).GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.URL, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return Depth{}, err
	}
	visible, errVisible := strconv.Atoi(out.Attributes["ApproximateNumberOfMessages"])
	inFlight, errInFlight := strconv.Atoi(out.Attributes["ApproximateNumberOfMessagesNotVisible"])
	delayed, errDelayed := strconv.Atoi(out.Attributes["ApproximateNumberOfMessagesDelayed"])
	return Depth{visible, inFlight, delayed}, errors.Join(errVisible, errInFlight, errDelayed)
}

// QueueURL returns the URL of a queue, by its logical id, for a client of DataPlane.SQS.
func (s *Stack) QueueURL(queue string) (string, error) {
	q, err := s.queueNamed(queue)
	return q.URL, err
}

func (s *Stack) queueNamed(id string) (translated.Queue, error) {
	queues, err := s.template.Queues()
	if err != nil {
		return translated.Queue{}, err
	}
	for _, q := range queues {
		if q.ID == id {
			return q, nil
		}
	}
	return translated.Queue{}, fmt.Errorf("the template has no queue %s", id)
}

// serialSchedule is a schedule whose calls never overlap.
type serialSchedule struct {
	translated.Schedule
	mu sync.Mutex
}

// callAllSchedules calls each scheduled function once, so that its work is done before the first
// request. On AWS the first call comes with the first interval.
func (s *Stack) callAllSchedules(ctx context.Context) error {
	for _, sc := range s.schedules {
		if err := s.callOnce(ctx, sc); err != nil {
			return fmt.Errorf("schedule %s: %w (see %s/%s.log)", sc.Name, err, s.LogDir, sc.Function)
		}
	}
	return nil
}

// interval returns how long the interval of a schedule lasts. Options.Minute sets how long a minute of it lasts.
func (s *Stack) interval(sc *serialSchedule) time.Duration {
	return time.Duration(float64(sc.Every) / float64(time.Minute) * float64(cmp.Or(s.options.Minute, time.Minute)))
}

// keepCalling calls a scheduled function at its interval. While a call takes longer than its interval, ticks are left out.
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

// RunSchedule calls a scheduled function now, by its logical id, as its schedule would, and returns
// its error. It waits for a running call of the schedule first.
func (s *Stack) RunSchedule(ctx context.Context, function string) error {
	for _, sc := range s.schedules {
		if sc.Function == function {
			return s.callOnce(ctx, sc)
		}
	}
	return fmt.Errorf("the template has no schedule for %s", function)
}

// callOnce calls the function of a schedule with the event that EventBridge would send, after a running call of the schedule
// has ended. Lambda keeps a throttled event and tries again after 1 s, 2 s, 4 s and so on, by its documentation ("How Lambda
// handles errors and retries with asynchronous invocation"). Here it does so until the next event is due, when Lambda may drop
// the event: MaximumEventAgeInSeconds is not read.
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
		_, err = s.lambda.Invoke(ctx, sc.Function, payload)
		if !errors.Is(err, lambda.ErrThrottled) || time.Since(begun)+wait > s.interval(sc) || tools.Sleep(ctx, wait) != nil {
			break
		}
	}
	if ctx.Err() == nil { // else the stack is closing
		failed := 0
		if err != nil {
			failed = 1
		}
		s.logCall(pump.Call{Source: sc.Name, Records: 1, Failed: failed, Err: err, Took: time.Since(begun)})
	}
	return err
}
