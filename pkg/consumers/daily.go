package consumers

import (
	"context"
	"fmt"
	"log/slog"
)

// Daily makes the search for a schedule. It logs each finding.
type Daily struct {
	API    API
	Region string
	Shared []string // as of Search
}

// Run returns an error when an answer could be kept, or when not all APIs could be looked at: the function's errors raise
// the alarm.
func (d Daily) Run(ctx context.Context) error {
	s := Search{API: d.API, Region: d.Region, Shared: d.Shared, Say: func(format string, args ...any) {
		slog.ErrorContext(ctx, "a consumer", "finding", fmt.Sprintf(format, args...))
	}}
	if err := s.Run(ctx); err != nil {
		return fmt.Errorf("the account's APIs cannot be read: %w", err)
	}
	slog.InfoContext(ctx, "looked at consumers", "authorizers", s.Seen, "ours", s.Ours, "wrong", s.Wrong, "unknown", s.Unknown)
	if s.Wrong > 0 {
		return fmt.Errorf("%d authorizers or stages could keep an answer", s.Wrong)
	}
	return nil
}
