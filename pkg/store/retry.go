package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// errRaced is the error of a refusal when a row has changed since it was read: the use case
// reads again.
var errRaced = errors.New("store: what was read has changed")

// errBusy is the cause of an error when each try lost a race for the same rows, or was slowed by
// the table's throughput.
var errBusy = errors.New("store: others were writing the same rows")

// Busy reports whether nothing was done only because each try lost a race for the same rows.
// Work that can wait is done later.
func Busy(err error) bool { return errors.Is(err, errBusy) }

const (
	conflictTries = 5 // of a transaction that conflicts with others
	raceTries     = 8 // of a use case whose rows have changed since it read them
)

// retryRaced runs a use case that reads and then writes. It runs it again when other requests
// have changed what it read.
func retryRaced(ctx context.Context, useCase func() error) error {
	for try := range raceTries {
		if err := pause(ctx, try); err != nil {
			return unavailable(err)
		}
		if err := useCase(); !errors.Is(err, errRaced) {
			return err
		}
	}
	return unavailable(errors.Join(errBusy, errRaced))
}

// pause waits before a try: not before the first, then 10 to 100 ms at random (full jitter). It
// ends early with the request.
func pause(ctx context.Context, try int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if try == 0 {
		return nil
	}
	const least, spread = 10 * time.Millisecond, 90 * time.Millisecond
	n, err := rand.Int(rand.Reader, big.NewInt(int64(spread)))
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(least + time.Duration(n.Int64())):
		return nil
	}
}

func clientToken() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", b), nil
}
