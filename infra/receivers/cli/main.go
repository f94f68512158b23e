// Command cli is `make receiver`. It registers itself as a webhook endpoint of an API key's app,
// prints each webhook that it can verify, and deletes the endpoint at Ctrl-C. The stack must be
// able to send webhooks to loopback, as the local stack is.
//
// Its environment has KEY (an API key, lk_…), BASE_URL (by default http://127.0.0.1:3000) and
// ISSUER (the webhooks' iss, by default BASE_URL).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
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
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	base := os.Getenv("BASE_URL")
	if base == "" {
		base = "http://127.0.0.1:3000"
	}
	key := os.Getenv("KEY")
	if key == "" {
		fmt.Fprintf(os.Stderr, noKey, base)
		os.Exit(2)
	}
	r := receiver{api: api{base: base, key: key}, issuer: os.Getenv("ISSUER"), out: os.Stdout}
	if err := r.run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
