package lab

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"latchkey/infra/lab/backing"
	"latchkey/infra/lab/pump"
	"latchkey/infra/lab/translated"
)

// scheduled is a schedule whose calls never overlap.
type scheduled struct {
	translated.Schedule
	mu sync.Mutex
}

// callSchedules calls each scheduled function once, so that its work is done before the first
// request. On AWS the first call comes with the first interval.
func (s *Stack) callSchedules(ctx context.Context) error {
	schedules, err := s.template.Schedules()
	if err != nil {
		return err
	}
	for _, schedule := range schedules {
		if err := s.callScheduled(ctx, &scheduled{Schedule: schedule}); err != nil {
			return fmt.Errorf("schedule %s: %w (see %s/%s.log)", schedule.Name, err, s.LogDir, schedule.Function)
		}
	}
	return nil
}

// startSchedules starts to call each scheduled function at its interval.
func (s *Stack) startSchedules(background context.Context) error {
	schedules, err := s.template.Schedules()
	if err != nil {
		return err
	}
	for _, schedule := range schedules {
		sc := &scheduled{Schedule: schedule}
		s.schedules = append(s.schedules, sc)
		s.feeding.Go(func() { s.keepCalling(background, sc) })
	}
	return nil
}

// keepCalling calls a scheduled function at its interval. When a call takes longer, the next one is
// left out.
func (s *Stack) keepCalling(ctx context.Context, sc *scheduled) {
	every := sc.Every
	if s.options.Minute != 0 {
		every = time.Duration(float64(every) / float64(time.Minute) * float64(s.options.Minute))
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.callScheduled(ctx, sc); err != nil && ctx.Err() == nil {
			s.options.Progress(fmt.Sprintf("schedule %s: %v", sc.Name, err))
		}
	}
}

// RunSchedule calls a scheduled function now, by its logical id, as its schedule would, and returns
// its error. It waits for a running call of the schedule first.
func (s *Stack) RunSchedule(ctx context.Context, function string) error {
	for _, sc := range s.schedules {
		if sc.Function == function {
			return s.callScheduled(ctx, sc)
		}
	}
	return fmt.Errorf("the template has no schedule for %s", function)
}

func (s *Stack) callScheduled(ctx context.Context, sc *scheduled) error {
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
	_, err = s.lambda.Invoke(ctx, sc.Function, payload)
	if ctx.Err() == nil {
		failed := 0
		if err != nil {
			failed = 1
		}
		s.logCall(pump.Call{Source: sc.Name, Function: sc.Function, Records: 1, Failed: failed, Err: err, Took: time.Since(begun)})
	}
	return err
}
