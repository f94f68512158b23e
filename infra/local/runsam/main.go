// Command runsam is `make sam`: the functions under `sam local start-api`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"latchkey/infra/local/sam"
)

func main() {
	port := flag.Int("port", 3000, "port of the API")
	flag.Parse()
	if err := serve(*port); err != nil {
		fmt.Fprintln(os.Stderr, "latchkey:", err)
		os.Exit(1)
	}
}

func serve(port int) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s, err := sam.Start(ctx, port, func(line string) { fmt.Fprintln(os.Stderr, line) })
	if err != nil {
		return err
	}
	fmt.Printf("Latchkey is ready at %s (sam local)\n", s.URL)
	fmt.Printf("a token: make token EMAIL=a@example.com NAME=Ann PORT=%d\n", port+sam.BehindPort)
	select {
	case <-ctx.Done():
	case <-s.Done():
		err = fmt.Errorf("sam local ended by itself")
	case err = <-s.Stack.Failed():
	}
	if closing := s.Close(); err == nil {
		err = closing
	}
	return err
}
