package stack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"latchkey/infra/local/backing"
	"latchkey/infra/local/translated"
)

// startSchedules calls each scheduled function once, so that what it prepares is
// there before the first request, and then at its interval. On AWS the first
// call comes with the first interval.
func (s *Stack) startSchedules(ctx, background context.Context) error {
	schedules, err := s.template.Schedules()
	if err != nil {
		return err
	}
	for _, schedule := range schedules {
		if err := s.callScheduled(ctx, schedule); err != nil {
			return fmt.Errorf("schedule %s: %w (see %s/%s.log)", schedule.Name, err, s.LogDir, schedule.Function)
		}
		s.pumps.Go(func() { s.pump(background, schedule) })
	}
	return nil
}

func (s *Stack) pump(ctx context.Context, schedule translated.Schedule) {
	tick := time.NewTicker(schedule.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.callScheduled(ctx, schedule); err != nil && ctx.Err() == nil {
			s.options.Progress(fmt.Sprintf("schedule %s: %v", schedule.Name, err))
		}
	}
}

func (s *Stack) callScheduled(ctx context.Context, schedule translated.Schedule) error {
	payload := []byte(schedule.Input)
	if len(payload) == 0 {
		event, err := json.Marshal(map[string]any{
			"version": "0", "id": rand.Text(), "detail-type": "Scheduled Event", "source": "aws.events",
			"account": translated.AccountID, "region": backing.Region, "time": time.Now().UTC().Format(time.RFC3339),
			"resources": []string{schedule.ARN}, "detail": map[string]any{},
		})
		if err != nil {
			return err
		}
		payload = event
	}
	_, err := s.lambda.Invoke(ctx, schedule.Function, payload)
	return err
}
