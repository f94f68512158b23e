package tools

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a command, whose context ends at a Ctrl-C or SIGTERM. An error ends the program as Exit does.
func Main(prefix string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	Exit(prefix, run(ctx))
}

// Exit prints an error after the prefix, and ends the program with status 1. Without an error it does nothing.
func Exit(prefix string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, prefix+err.Error())
		os.Exit(1)
	}
}
