// Command cli is `make receiver`. It registers itself as a webhook endpoint of an API key's app,
// prints each webhook that it can verify, and deletes the endpoint at Ctrl-C. The stack must
// send webhooks to loopback addresses, as the local stack does.
//
// Its environment has KEY (an API key, lk_…), BASE_URL (by default http://127.0.0.1:3000) and
// ISSUER (the webhooks' iss, by default BASE_URL).
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"latchkey/pkg/verify"
)

const noKey = `make receiver needs an API key: make receiver KEY=lk_…
This makes an org and a key, and prints the key:
  TOKEN=$(make -s token EMAIL=me@example.com NAME=Me)
  ORG=$(curl -s %[1]s/v1/orgs -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"name":"Mine"}' | sed 's/.*"id":"\([^"]*\)".*/\1/')
  curl -s %[1]s/v1/orgs/$ORG/keys -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{}'
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	base := cmp.Or(os.Getenv("BASE_URL"), "http://127.0.0.1:3000")
	key := os.Getenv("KEY")
	if key == "" {
		fmt.Fprintf(os.Stderr, noKey, base)
		os.Exit(2)
	}
	r := receiver{api: api{base: base, key: key}, issuer: os.Getenv("ISSUER"), out: os.Stdout, seen: map[string]bool{}}
	if err := r.run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const shutdownTimeout = 10 * time.Second // once for the running requests, and once to delete the endpoint

// receiver registers an endpoint and prints its webhooks.
type receiver struct {
	api    api
	issuer string // the iss that webhooks must have; "": api.base

	mu   sync.Mutex
	out  io.Writer
	seen map[string]bool // ids of events that were printed
}

// run receives webhooks until ctx ends. It fails when it cannot listen, and when it cannot register or delete the endpoint.
func (r *receiver) run(ctx context.Context) (err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // ignore the error: the server may have closed the listener
	address := "http://" + listener.Addr().String() + "/"
	// Ctrl-C must not interrupt the call that creates the endpoint: without its id, run could not delete the endpoint.
	var made struct{ ID string }
	in := map[string]string{"url": address, "description": "make receiver"}
	if err := r.api.call(context.WithoutCancel(ctx), "/webhook_endpoint/create", in, http.StatusCreated, &made); err != nil {
		return fmt.Errorf("registering the endpoint: %w", err)
	}
	defer func() { err = errors.Join(err, r.deleteEndpoint(ctx, made.ID)) }()
	v, err := verify.New(verify.Config{
		BaseURL: r.api.base, Issuer: cmp.Or(r.issuer, r.api.base), EndpointID: made.ID,
		Report: func(_ context.Context, err error) { r.print("%s  not accepted: %v", clock(), err) },
	})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: v.Handler(r.show), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }() // a webhook sent since the registration waits in the listener's queue
	r.print("Receiving webhooks for endpoint %s at %s. Ctrl-C ends it.", made.ID, address)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	return server.Shutdown(ending)
}

// deleteEndpoint deletes the endpoint, even when ctx has ended.
func (r *receiver) deleteEndpoint(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := r.api.call(ctx, "/webhook_endpoint/delete", map[string]string{"endpointId": id}, http.StatusOK, new(any)); err != nil {
		return fmt.Errorf("deleting endpoint %s: %w", id, err)
	}
	r.print("Endpoint %s is deleted.", id)
	return nil
}

// show prints an event: the time, its type, its id and its data.
func (r *receiver) show(_ context.Context, e verify.Event) error {
	var data bytes.Buffer
	if err := json.Compact(&data, e.Data); err != nil {
		return err
	}
	again := ""
	r.mu.Lock()
	if r.seen[e.ID] { // an event is delivered at least once, so it may come again
		again = "  (again)"
	}
	r.seen[e.ID] = true
	r.mu.Unlock()
	r.print("%s  %s  %s  %s%s", clock(), e.Type, e.ID, &data, again)
	return nil
}

func clock() string { return time.Now().Format(time.TimeOnly) }

// print prints a line. Users of the app write the data of an event, so print replaces characters that could control the
// terminal.
func (r *receiver) print(format string, args ...any) {
	line := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, fmt.Sprintf(format, args...))
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintln(r.out, line) // ignore the error of a closed terminal
}

// apiTimeout is long enough for the cold start of a function.
const apiTimeout = 15 * time.Second

// api calls Latchkey's API with an API key.
type api struct{ base, key string }

// call posts in as JSON and decodes the answer into out. If the answer has another status than want, call returns the API's
// problem as an error. It follows no redirect, so that no other host gets the API key.
func (a api) call(ctx context.Context, path string, in any, want int, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(a.base, "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: apiTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != want {
		return problemOf(res)
	}
	return json.NewDecoder(res.Body).Decode(out)
}

// problemOf returns the API's problem document as an error of one line.
func problemOf(res *http.Response) error {
	var p struct {
		Title, Detail, Code string
		Errors              []struct{ Pointer, Message string }
	}
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil || p.Code == "" {
		return fmt.Errorf("the API answered %d", res.StatusCode)
	}
	text := fmt.Sprintf("%d %s: %s", res.StatusCode, p.Code, strings.TrimSpace(p.Title+". "+p.Detail))
	for _, e := range p.Errors {
		text += fmt.Sprintf(" (%s: %s)", e.Pointer, e.Message)
	}
	if p.Code == "limit_reached" {
		text += " Delete endpoints that are no longer needed: /webhook_endpoint/list and /webhook_endpoint/delete."
	}
	return errors.New(text)
}
