// Command run runs Latchkey on this machine until it is interrupted: `make run`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"latchkey/infra/local/backing"
	"latchkey/infra/local/stack"
)

const defaultPort = 3000

func main() {
	port := flag.Int("port", defaultPort, "port of the API; the six after it are used too")
	template := flag.String("template", "", "another template than the repository's")
	throttle := flag.Bool("throttle", false, "refuse requests over the template's limits")
	parameters := flag.String("parameters", "", "parameters of the template, Name=value, with blanks between them")
	flag.Parse()
	given, err := stack.ParseParameters(*parameters)
	if err != nil {
		fmt.Fprintln(os.Stderr, "latchkey: "+err.Error())
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, stack.Options{Port: *port, Template: *template, Parameters: given, Throttle: *throttle, Requests: os.Stdout}); err != nil {
		fmt.Fprintln(os.Stderr, "latchkey: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, o stack.Options) error {
	begun := time.Now()
	s, err := stack.Start(ctx, o)
	var missing *backing.MissingError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%w\nLatchkey's local stack needs Go, a JDK of Java 17 or later, Maven, and Python 3.10 or later with venv", err)
	case err != nil && ctx.Err() != nil:
		return nil //nolint:nilerr // an interruption is no error
	case err != nil:
		return err
	}
	fmt.Printf("Latchkey is ready at %s\n", s.URL)
	fmt.Fprintf(os.Stderr, "started in %.1f s; logs: %s; %s\n", time.Since(begun).Seconds(), s.LogDir, tokens(s, o.Port))
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
