package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"latchkey/infra/local/stack"
	"latchkey/infra/tools"
)

// run runs Latchkey on this machine until the context ends.
func run(ctx context.Context, o settings) error {
	given, err := tools.ParseParameters(o.parameters)
	if err != nil {
		return err
	}
	consumers, err := tools.ParseParameters(o.consumerParameters)
	if err != nil {
		return err
	}
	begun := time.Now()
	s, err := stack.Start(ctx, stack.Options{
		Port: o.port, Template: o.template, Parameters: given, Throttle: o.throttle, Reload: true, Requests: os.Stdout,
		Consumer: o.consumer, ConsumerParameters: consumers,
	})
	var missing *tools.MissingError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%w\nLatchkey's local stack needs Go, a JDK of Java 17 or later, Maven, and Python 3.10 or later with venv", err)
	case err != nil && ctx.Err() != nil:
		return nil //nolint:nilerr // an interruption is no error
	case err != nil:
		return err
	}
	for _, function := range slices.Sorted(maps.Keys(s.FunctionURLs)) {
		fmt.Printf("The function URL of %s is %s\n", function, s.FunctionURLs[function])
	}
	if s.Consumer != "" {
		fmt.Printf("The API of %s is at %s\n", o.consumer, s.Consumer)
	}
	fmt.Printf("Latchkey is ready at %s\n", s.URL)
	fmt.Fprintf(os.Stderr, "started in %.1f s; logs: %s; %s\n", time.Since(begun).Seconds(), s.LogDir, tokens(s, o.port))
	select {
	case <-ctx.Done():
		return s.Close()
	case err := <-s.Failed():
		return errors.Join(err, s.Close())
	}
}

// tokens returns a text that says where a token for the stack comes from.
func tokens(s *stack.Stack, port int) string {
	if s.OwnIssuer() {
		return fmt.Sprintf("a token: make token EMAIL=a@example.com NAME=Ann PORT=%d", port)
	}
	return "tokens are those of " + s.Issuer
}
