package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"latchkey/infra/local/sam"
)

// runSAM runs the functions under `sam local start-api` until the context ends.
func runSAM(ctx context.Context, port int) error {
	s, err := sam.Start(ctx, port, func(line string) { fmt.Fprintln(os.Stderr, line) })
	if err != nil {
		return err
	}
	fmt.Printf("Latchkey is ready at %s (sam local)\n", s.URL)
	fmt.Printf("a token: make token EMAIL=a@example.com NAME=Ann PORT=%d\n", port+sam.BehindPort)
	select {
	case <-ctx.Done():
	case <-s.Done():
		err = errors.New("sam local ended by itself")
	case err = <-s.Stack.Failed():
	}
	return errors.Join(err, s.Close())
}
