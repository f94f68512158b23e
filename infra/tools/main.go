package tools

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a command, whose context ends at a Ctrl-C, SIGTERM, or when the terminal is closed (SIGHUP, except under nohup). A Ctrl-C
// counts also for a program that a shell started with &, which ignores it at first. An error ends the program as Exit does.
func Main(prefix string, run func(context.Context) error) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
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
