package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode"

	"latchkey/pkg/fetch"
	"latchkey/pkg/problem"
)

// client calls the API. Each request may be sent again: it names the state to reach, or has an Idempotency-Key.
type client struct {
	base    string
	header  http.Header
	token   *token
	patient bool // retry without a limit; otherwise a request is sent four times at most

	before func(context.Context) error // runs before each try of a request, which its error ends; nil: nothing runs
}

// call sends a request, and repeats it after 429, 5xx or no answer. It decodes the answer into out, unless out is nil, and
// returns the time of the API's clock. Only a POST has a body. Error: *problem.Error.
func (c *client) call(ctx context.Context, method, path string, in, out any) (now time.Time, err error) {
	header := c.header.Clone()
	var body []byte
	if method == http.MethodPost {
		header.Set("Content-Type", "application/json")
		if body, err = json.Marshal(in); err != nil {
			return now, err
		}
	}
	failed := "" // the token that was refused
	for try := 0; ; try++ {
		credential, err := c.begin(ctx, header, failed)
		if err != nil {
			return now, err
		}
		answer, err := send(ctx, 35*time.Second, method, c.base+path, header, body) // longer than the API works on a request
		if err == nil && answer.Status/100 == 2 {
			return decoded(answer, out)
		}
		if err == nil {
			err = problemOf(answer)
		}
		isFinal := answer.Status > 0 && answer.Status < 500 && answer.Status != http.StatusTooManyRequests
		switch {
		case answer.Status == http.StatusUnauthorized && failed == "" && c.token.command != "":
			failed = credential
			continue
		case isFinal || !c.patient && try == 3:
			return now, err
		}
		if err := waitForRetry(ctx, try, answer.Header, "%s %s: %v", method, path, err); err != nil {
			return now, err
		}
	}
}

// begin begins a try: it sets a token in the header, other than the one that was refused, and returns the token. A header with a line
// break is an error, because it can never be sent.
func (c *client) begin(ctx context.Context, header http.Header, refused string) (credential string, err error) {
	credential, err = c.token.get(ctx, refused)
	if err == nil && c.before != nil {
		err = c.before(ctx)
	}
	header.Set("Authorization", "Bearer "+credential)
	for name := range header {
		if err == nil && strings.ContainsFunc(header.Get(name), unicode.IsControl) {
			err = fmt.Errorf("%s must be one line", name)
		}
	}
	return credential, err
}

// send sends one request, and reads the whole answer.
func send(ctx context.Context, within time.Duration, method, address string, header http.Header, body []byte) (fetch.Answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return fetch.Answer{}, errors.New("the address is not a URL")
	}
	r.Header = header
	return fetch.Do(&http.Client{Timeout: within}, r, 16<<20)
}

// waitForRetry prints why the request failed, and waits before the next try: up to 30 s, or longer if Retry-After is longer.
func waitForRetry(ctx context.Context, try int, answer http.Header, why string, args ...any) error {
	wait := min(time.Second<<min(try, 5), 30*time.Second)
	if retryAfter, err := time.ParseDuration(answer.Get("Retry-After") + "s"); err == nil {
		wait = max(wait, retryAfter)
	}
	if ctx.Err() == nil {
		say(why+". Again in %s.", append(args, wait)...)
	}
	return sleep(ctx, wait)
}

func sleep(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
	return ctx.Err()
}

// decoded reads a 2xx answer into out, and returns its Date. A *string gets the whole text. An answer that does not come from
// the API is not quoted in the error.
func decoded(answer fetch.Answer, out any) (now time.Time, err error) {
	text, isText := out.(*string)
	isOfAPI := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/csv") || len(answer.Body) == 0 || json.Valid(answer.Body)
	switch {
	case isText && isOfAPI:
		*text = string(answer.Body)
	case isText || out != nil && json.Unmarshal(answer.Body, out) != nil:
		return now, errors.New("the answer does not come from the API")
	}
	if now, err = http.ParseTime(answer.Header.Get("Date")); err != nil {
		return now, errors.New("the answer has no Date")
	}
	return now, nil
}

// problemOf returns the API's problem document as an error. For any other answer, the error has only the status.
func problemOf(answer fetch.Answer) error {
	var p struct {
		Code   problem.Code
		Detail string
		Errors []problem.Field
	}
	if json.Unmarshal(answer.Body, &p) != nil || p.Code == "" {
		return fmt.Errorf("status %d", answer.Status)
	}
	for _, e := range p.Errors {
		p.Detail += " " + e.Pointer + ": " + e.Message
	}
	return problem.New(p.Code, p.Detail)
}

// token is a fixed text, or the output of a command. The command runs again a minute before its token expires.
type token struct {
	command string

	mu   sync.Mutex
	text string
	ends time.Time // when the token expires; zero: not known
}

// get returns a token. It runs the command again if the present token is the one that the API refused.
func (t *token) get(ctx context.Context, refused string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text != "" && t.text != refused && (t.ends.IsZero() || time.Until(t.ends) > time.Minute) {
		return t.text, nil
	}
	if t.command == "" {
		return "", errors.New("TOKEN_CMD is not set: it must be a command that prints an access token of a service, as 'make -s token KIND=service'")
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", t.command)
	cmd.Stderr, cmd.WaitDelay = os.Stderr, time.Second // after a signal, a child of the command may hold its output
	out, err := cmd.Output()
	if isComplete := errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil; err != nil && !isComplete {
		return "", cmp.Or(ctx.Err(), fmt.Errorf("TOKEN_CMD: %w", err))
	}
	if t.text, t.ends = strings.TrimSpace(string(out)), (time.Time{}); t.text == "" {
		return "", errors.New("TOKEN_CMD has printed no token")
	}
	var claims struct{ Exp int64 }
	if parts := strings.Split(t.text, "."); len(parts) == 3 {
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err == nil && json.Unmarshal(payload, &claims) == nil && claims.Exp != 0 {
			t.ends = time.Unix(claims.Exp, 0)
		}
	}
	return t.text, nil
}
