package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"

	"latchkey/pkg/verify"
)

const farewell = 10 * time.Second // to answer running requests, and to delete the endpoint

// receiver registers an endpoint and prints its webhooks.
type receiver struct {
	api    api
	issuer string // "": api.base

	mu   sync.Mutex
	out  io.Writer
	seen map[string]bool // ids of events that were printed
}

// run receives webhooks until ctx ends. It fails when it cannot register the endpoint, and when it
// cannot delete it.
func (r *receiver) run(ctx context.Context) (err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // an error: the server has closed it already
	address := "http://" + listener.Addr().String() + "/"
	// Ctrl-C does not end this call: without the id the endpoint could not be deleted.
	id, err := r.api.createEndpoint(context.WithoutCancel(ctx), address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.leave(ctx, id)) }()
	handler, err := r.handler(id)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }() // webhooks that came before wait in the listener
	r.print("Receiving webhooks for endpoint %s at %s. Ctrl-C ends it.", id, address)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	return server.Shutdown(ending)
}

// leave deletes the endpoint, even when ctx has ended.
func (r *receiver) leave(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := r.api.deleteEndpoint(ctx, id); err != nil {
		return err
	}
	r.print("Endpoint %s is deleted.", id)
	return nil
}

func (r *receiver) handler(endpointID string) (http.Handler, error) {
	issuer := r.issuer
	if issuer == "" {
		issuer = r.api.base
	}
	v, err := verify.New(verify.Config{
		BaseURL: r.api.base, Issuer: issuer, EndpointID: endpointID,
		Report: func(_ context.Context, err error) { r.print("%s  not taken: %v", clock(time.Now()), err) },
	})
	if err != nil {
		return nil, err
	}
	return v.Handler(r.show), nil
}

// show prints an event: the time, its type, its id and its data.
func (r *receiver) show(_ context.Context, e verify.Event) error {
	var data bytes.Buffer
	if err := json.Compact(&data, e.Data); err != nil {
		return err
	}
	again := ""
	if r.known(e.ID) {
		again = "  (again)"
	}
	r.print("%s  %s  %s  %s%s", clock(time.Now()), e.Type, e.ID, &data, again)
	return nil
}

// known reports whether an event came before. Each event comes at least once.
func (r *receiver) known(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	before := r.seen[id]
	r.seen[id] = true
	return before
}

func clock(t time.Time) string { return t.Format(time.TimeOnly) }

// print prints a line. Data comes from users of the app, so it replaces characters that could
// control the terminal.
func (r *receiver) print(format string, args ...any) {
	line := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, fmt.Sprintf(format, args...))
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintln(r.out, line) // an error: the terminal is gone
}
