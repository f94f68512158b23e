package main

import (
	"cmp"
	"math"
	"os"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// TestNoHistoryBreaksAPromise makes histories of every kind for the time PROVE_FOR, or until one is impossible. `make prove PLANTED=1` runs it
// on copies of the product with planted faults.
func TestNoHistoryBreaksAPromise(t *testing.T) {
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

// TestAnImpossibleHistoryIsFound: sixteen clients check and end a key at once, and one answer fits no order. The search must be
// clever: to try every order of 48 operations would take years.
func TestAnImpossibleHistoryIsFound(t *testing.T) {
	var all []porcupine.Operation
	for client := range clients {
		all = append(all,
			porcupine.Operation{ClientId: client, Input: input{"key", "check", ""}, Output: "good mark.0", Return: 1},
			porcupine.Operation{ClientId: client, Input: input{"key", "check", ""}, Output: "dead", Return: 1},
			porcupine.Operation{ClientId: client, Input: input{"key", "end", ""}, Output: unsure, Return: math.MaxInt64})
	}
	if got, _ := keyModel.search(all); got != porcupine.Ok {
		t.Errorf("a possible history: %v", got)
	}
	all[0].Output = "good mark.1" // a mark that the key never had
	if got, _ := keyModel.search(all); got != porcupine.Illegal {
		t.Errorf("an impossible history: %v", got)
	}
}
