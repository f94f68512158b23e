package boot

import (
	"log/slog"
	"os"
)

// Run starts a function. wire reads its settings and returns what serves its events. When a
// variable is missing or malformed, Run logs all of them and ends the process.
func Run(wire func(*Reader) (serve func())) {
	slog.SetDefault(Logger())
	r := New()
	serve := wire(r)
	if err := r.Err(); err != nil {
		slog.Error("start", "error", err)
		os.Exit(1)
	}
	serve()
}
