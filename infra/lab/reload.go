package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// lookEvery is how often the files of the functions' code are looked at, which takes some milliseconds.
const lookEvery = 300 * time.Millisecond

// reload replaces the functions whose code changes, until the context ends.
func (s *Stack) reload(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		for _, c := range []*sources{&s.sources, &s.consumer.sources} {
			was := c.files
			if now, err := c.fingerprints(); err == nil && !maps.Equal(now, was) { // an error is a file that is being written: the next look reads it
				c.files = now
				s.replace(ctx, *c, was)
			}
		}
	}
}

// replace builds the functions anew, those that are in use first, and ends the copies of those that have changed
// since the fingerprints were taken. When the code does not compile, they go on as they are.
func (s *Stack) replace(ctx context.Context, c sources, was map[string]string) {
	begun := time.Now()
	var node, used, unused []string
	for name, f := range c.functions {
		switch {
		case f.Interpreted() && was[c.folders[name]] != c.files[c.folders[name]]:
			node = append(node, name)
		case f.Interpreted():
		case len(s.lambda.Copies(name)) > 0:
			used = append(used, name)
		default:
			unused = append(unused, name)
		}
	}
	s.renew(begun, node)
	for _, names := range [][]string{used, unused} {
		before := c.programs()
		if err := s.compile(ctx, c, names); err != nil {
			if ctx.Err() == nil {
				s.options.Progress("the functions stay as they were: " + err.Error())
			}
			return
		}
		after := c.programs()
		s.renew(begun, slices.DeleteFunc(names, func(name string) bool { return os.SameFile(before[name], after[name]) }))
	}
}

// renew ends the copies of functions that have changed.
func (s *Stack) renew(begun time.Time, changed []string) {
	var wrong error
	for _, name := range changed {
		wrong = errors.Join(wrong, s.lambda.Renew(name))
	}
	slices.Sort(changed)
	switch {
	case wrong != nil:
		s.options.Progress("the functions are not replaced: " + wrong.Error())
	case len(changed) > 0:
		s.options.Progress(fmt.Sprintf("replaced after %.1f s: %s", time.Since(begun).Seconds(), strings.Join(changed, ", ")))
	}
}

// programs returns the files of the programs, by the functions in Go.
func (c sources) programs() map[string]os.FileInfo {
	out := make(map[string]os.FileInfo)
	for name, f := range c.functions {
		if info, err := os.Stat(c.program(name)); err == nil && !f.Interpreted() {
			out[name] = info
		}
	}
	return out
}
