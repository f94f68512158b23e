package table

import (
	"context"
	"errors"
	"math/rand/v2" //nolint:depguard // jitter, no secret
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	conflictTries = 5 // tries of a write that conflicts with others
	raceTries     = 8 // tries of a use case whose rows have changed since it read them
)

// Retry runs a use case that reads and then writes. When the use case returns ErrRaced, because
// another request has changed a row in between, Retry runs it again.
func (t *Table) Retry(ctx context.Context, useCase func() error) error {
	return t.try(ctx, raceTries, func() (again bool, err error) {
		err = useCase()
		return errors.Is(err, ErrRaced), err
	})
}

// try calls do again until do returns again = false, and then returns the error of do. With again, err is
// the reason why another call is needed.
func (t *Table) try(ctx context.Context, tries int, do func() (again bool, err error)) error {
	var last error
	for try := range tries {
		if err := pause(ctx, try); err != nil {
			return t.fault(errors.Join(err, last))
		}
		again, err := do()
		if !again {
			return err
		}
		last = err
	}
	return t.fault(errors.Join(ErrBusy, last))
}

// isConflict reports whether another write of the same rows is at work.
func isConflict(err error) bool {
	var conflict *types.TransactionConflictException
	return inProgress(err) || errors.As(err, &conflict)
}

// inProgress reports whether an earlier try with the same client token is at work. Only this transaction has the token.
func inProgress(err error) bool {
	var busy *types.TransactionInProgressException
	return errors.As(err, &busy)
}

// pause waits before a try: not before the first (try 0), then 10 to 100 ms at random. The wait ends
// early when ctx does.
func pause(ctx context.Context, try int) error {
	if err := ctx.Err(); err != nil || try == 0 {
		return err
	}
	const least, spread = 10 * time.Millisecond, 90 * time.Millisecond
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(least + rand.N(spread)): //nolint:gosec // jitter: to guess it gains nothing
		return nil
	}
}
