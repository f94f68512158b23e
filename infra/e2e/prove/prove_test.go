package main

import (
	"cmp"
	"os"
	"testing"
	"time"
)

// TestNothingIsFound makes histories of every kind until one is impossible, for PROVE_FOR. `make prove PLANTED=1` runs it on
// copies with faults.
func TestNothingIsFound(t *testing.T) {
	during, err := time.ParseDuration(cmp.Or(os.Getenv("PROVE_FOR"), "5m"))
	if err != nil {
		t.Fatal(err)
	}
	o := options{during: during, stop: true}
	if err := o.read("1", ""); err != nil {
		t.Fatal(err)
	}
	if err := prove(t.Context(), o, false); err != nil {
		t.Fatal(err)
	}
}
