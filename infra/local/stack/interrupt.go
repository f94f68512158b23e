package stack

import (
	"context"
	"fmt"

	"latchkey/infra/lab/backing"
)

// StopDB stops the database: connections to it are refused.
func (s *Stack) StopDB() error { return s.stopOne(&s.db) }

// StartDB starts a stopped database again, with all its data. A running one stays as it is.
func (s *Stack) StartDB(ctx context.Context) error {
	return s.startOne(ctx, "the database", &s.db, s.startDB)
}

// PauseDB makes the database hang: it accepts connections and answers nothing.
func (s *Stack) PauseDB() error { return s.pauseOne(&s.db) }

// ResumeDB ends PauseDB.
func (s *Stack) ResumeDB() error { return s.resumeOne(&s.db) }

// StopKMS stops the KMS. Its keys are gone.
func (s *Stack) StopKMS() error { return s.stopOne(&s.kms) }

// StartKMS starts a stopped KMS again, without keys. A running one stays as it is.
func (s *Stack) StartKMS(ctx context.Context) error {
	return s.startOne(ctx, "the KMS", &s.kms, s.startKMS)
}

// PauseKMS makes the KMS hang: it accepts connections and answers nothing.
func (s *Stack) PauseKMS() error { return s.pauseOne(&s.kms) }

// ResumeKMS ends PauseKMS.
func (s *Stack) ResumeKMS() error { return s.resumeOne(&s.kms) }

// StopQueue stops the queues. Their messages are gone.
func (s *Stack) StopQueue() error { return s.stopOne(&s.queue) }

// StartQueue starts stopped queues again, empty. Running ones stay as they are.
func (s *Stack) StartQueue(ctx context.Context) error {
	return s.startOne(ctx, "the queues", &s.queue, func(ctx context.Context) error {
		if err := s.startQueue(ctx); err != nil {
			return err
		}
		return s.makeQueues(ctx)
	})
}

// KillFunction kills every copy of a function (SIGKILL), by its logical id, also during calls. The
// next call starts a new copy. Error: lambda.ErrNoFunction.
func (s *Stack) KillFunction(function string) error { return s.lambda.Kill(function) }

func (s *Stack) stopOne(p **backing.Process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (*p).Stop()
}

func (s *Stack) startOne(ctx context.Context, what string, p **backing.Process, start func(context.Context) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-(*p).Done():
	default:
		return nil
	}
	if err := start(ctx); err != nil {
		return fmt.Errorf("starting %s again: %w", what, err)
	}
	return nil
}

func (s *Stack) pauseOne(p **backing.Process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (*p).Pause()
}

func (s *Stack) resumeOne(p **backing.Process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (*p).Resume()
}
