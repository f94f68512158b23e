package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// errRaced is what a refusal returns when what was read before the transaction
// has changed since: the use case reads again.
var errRaced = errors.New("store: what was read has changed")

// errBusy is the cause of an error when each try met others that wrote the same rows,
// or was held back by the table's throughput.
var errBusy = errors.New("store: others were writing the same rows")

// Busy reports whether nothing was done only because each try met others that wrote
// the same rows. What can wait is done later.
func Busy(err error) bool { return errors.Is(err, errBusy) }

const (
	conflictTries = 5 // of one transaction that collides with others
	raceTries     = 8 // of a use case whose reading was overtaken
)

// retryRaced runs a use case that reads and then writes, again while its reading
// is overtaken by others.
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

// pause waits before a further try: nothing before the first, then 10 to 100 ms
// at random (full jitter). It ends early with the request.
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
