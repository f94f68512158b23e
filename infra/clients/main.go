// Command clients is `make clients`. It lints the OpenAPI document. It generates a client
// of infra/openapi.yaml with each of the generators that customers use, compiles it, and
// runs a program with it on the local stack, and again through proxies whose answers have
// members and codes that do not exist yet. Then Schemathesis tries the stack. A report of
// the linter or of Schemathesis is a failure unless listed.txt has the reason for it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	short := flag.Bool("short", false, "without the generators, two of which `make test` tries")
	run := flag.String("run", "", "only parts whose name matches")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := clients(ctx, *short, *run); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is deferred but the signals
	}
}

// part is one thing to try on the API.
type part struct {
	name string
	try  func(context.Context, *api) error
}

// parts returns all parts in their order. Schemathesis comes last: the webhooks that it
// causes keep the stack busy.
func parts(short bool) []part {
	all := []part{{"redocly", redocly}}
	if !short {
		for _, g := range generators() {
			all = append(all, part{g.name, g.try})
		}
	}
	return append(all, part{"schemathesis", schemathesis})
}

func clients(ctx context.Context, short bool, run string) error {
	wanted, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	a, err := startAPI(ctx, nil)
	if err != nil {
		return err
	}
	var errs []error
	tried := 0
	for _, p := range parts(short) {
		if !wanted.MatchString(p.name) {
			continue
		}
		tried++
		started := time.Now()
		err := p.try(ctx, a)
		errs = append(errs, err)
		result := "ok"
		if err != nil {
			result = "FAILED"
		}
		fmt.Printf("%-32s %-8s %.0f s\n", p.name, result, time.Since(started).Seconds())
	}
	if tried == 0 {
		errs = append(errs, errors.New("no part is chosen"))
	}
	return errors.Join(append(errs, a.close())...)
}
