// Command prove is `make prove`. It runs the whole product, with faults between the product and AWS. Clients race each other
// in histories, and each history must keep a promise. The command prints a table of the promises and the violations, and
// fails if there is a violation. See infra/docs/proof.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"latchkey/infra/tools"
)

func main() {
	var o options
	flag.DurationVar(&o.during, "for", 5*time.Minute, "how long to make histories")
	seed := flag.String("seed", "", "the seed of a run, or of one history as a violation prints it: 7/claimed/213")
	run := flag.String("run", "", "only kinds of histories whose names match")
	flag.BoolVar(&o.soak, "soak", false, "make no faults, and check the memory of the functions")
	publish := flag.Bool("publish", false, "write infra/docs/proof.md, with the time to find each planted fault")
	flag.Parse()
	if err := o.read(*seed, *run); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	tools.Main("", func(ctx context.Context) error { return prove(ctx, o, *publish) })
}

// read sets the seed and the kinds.
func (o *options) read(seed, run string) (err error) {
	parts := strings.Split(seed, "/")
	o.again, o.seed = -1, uint64(time.Now().UnixNano()%1_000_000)
	if seed != "" {
		if o.seed, err = strconv.ParseUint(parts[0], 10, 64); err != nil {
			return err
		}
	}
	if len(parts) == 3 {
		run = "^" + parts[1] + "$"
		if o.again, err = strconv.Atoi(parts[2]); err != nil {
			return err
		}
	}
	wanted, err := regexp.Compile(run)
	if err == nil {
		o.only = wanted.MatchString
	}
	return err
}

// prove makes a run and prints its table. It returns an error if there is a violation.
func prove(ctx context.Context, o options, publish bool) (err error) {
	fmt.Printf("seed %d\n", o.seed)
	var started atomic.Bool                            // from then on the stack prints too many lines about the faults
	copies := map[bool]int{false: 16, true: 2}[o.soak] // only two in a soak, so that each answers many calls soon
	w, err := newWorld(ctx, copies, func(line string) {
		if !started.Load() {
			fmt.Println(line)
		}
	})
	started.Store(true)
	defer func() { err = errors.Join(err, w.Close()) }()
	if err != nil {
		return err
	}
	p := &proof{world: w, options: o}
	if err := p.run(ctx); err != nil {
		return err
	}
	table, found := p.table()
	fmt.Print(table)
	if publish {
		err = p.publish(ctx, table)
	}
	if found > 0 {
		err = errors.Join(err, fmt.Errorf("%d violations, the first after %s (seed %d)", found, p.found.Sub(p.begun).Round(time.Second), o.seed))
	}
	return err
}
