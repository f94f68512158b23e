package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"latchkey/pkg/fetch"
	"latchkey/pkg/webhook"
)

// listener forwards the events of an app, oldest first.
type listener struct {
	*cli
	journal
	types []string // as in an endpoint's list of events
}

// listen forwards each event in the form that a webhook has in its member event. It repeats an event until the answer is 2xx,
// and later events wait, so that none is lost. An event comes twice if listen is killed after the answer and before its entry.
func listen(ctx context.Context, c *cli) error {
	if !fetch.IsSafe(c.flags["forward"]) {
		return errors.New("--forward must be an https URL, or an http URL of this machine")
	}
	types := strings.Split(cmp.Or(c.flags["types"], webhook.Every), ",")
	for i, one := range types {
		if types[i] = strings.TrimSpace(one); !webhook.ValidFilter(types[i]) {
			return fmt.Errorf("--types has %q: no event can have this type", one)
		}
	}
	say("The events come from %s, which gets the key (--api, or LATCHKEY_API).", c.base)
	c.token = &token{text: c.flags["key"]}
	var self struct{ App struct{ ID, Name string } }
	now, err := c.call(ctx, "POST", "/app/get", struct{}{}, &self)
	if err != nil {
		return err
	}
	c.patient = true // not before, because the address may be a wrong one
	l, path := &listener{cli: c, types: types}, c.flags["state"]
	if path == "" {
		folder, err := os.UserConfigDir()
		path = filepath.Join(folder, "latchkey", fmt.Sprintf("%.12x", sha256.Sum256([]byte(self.App.ID+c.base+c.flags["forward"]))))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err != nil {
			return err
		}
	}
	if err := l.open(path, entry{Do: "listen to " + self.App.ID, API: c.base, At: now.UnixMilli()}); err != nil { // a new file begins at the present time
		return err
	}
	say("Forwarding the events of %s (%s). They are NOT SIGNED: let only a server under development accept them. Ctrl-C ends it.", self.App.Name, self.App.ID)
	for {
		isLast, err := l.page(ctx)
		if err == nil && isLast {
			err = sleep(ctx, 5*time.Second) // the feed shows an event 10 s after it happened
		}
		if errors.Is(err, context.Canceled) {
			return nil // a signal is the usual end
		}
		if err != nil {
			return err
		}
	}
}

// page forwards the events of a page of the feed.
func (l *listener) page(ctx context.Context) (isLast bool, err error) {
	in := map[string]any{"limit": 100, "since": l.run.At}
	if l.at.Cursor != "" {
		in["cursor"] = l.at.Cursor
	}
	var feed struct {
		Events     []json.RawMessage
		NextCursor string
	}
	if _, err := l.call(ctx, "POST", "/webhook_event/list", in, &feed); err != nil {
		return false, err
	}
	for _, raw := range feed.Events {
		var e struct{ ID, Type string }
		if err := json.Unmarshal(raw, &e); err != nil {
			return false, errors.New("the answer has an event that is not an object")
		}
		if e.ID <= l.at.Last || !webhook.Wants(l.types, webhook.Type(e.Type)) {
			continue // forwarded before (ids ascend), or a type that the flag --types leaves out
		}
		var event bytes.Buffer
		json.HTMLEscape(&event, raw) // as in a webhook
		if err := l.forward(ctx, e.ID, e.Type, event.Bytes()); err != nil {
			return false, err
		}
		if err := l.add(entry{Do: page, Cursor: l.at.Cursor, Last: e.ID}); err != nil {
			return false, err
		}
	}
	if feed.NextCursor != l.at.Cursor {
		err = l.add(entry{Do: page, Cursor: feed.NextCursor})
	}
	return len(feed.Events) < 100, err
}

// forward sends an event until the receiver has accepted it.
func (l *listener) forward(ctx context.Context, id, kind string, event []byte) error {
	header := http.Header{"Content-Type": {"application/json"}, "Webhook-Id": {id}}
	for try := 0; ; try++ {
		answer, err := send(ctx, 10*time.Second, "POST", l.flags["forward"], header, event) // the time-out of a webhook
		if err == nil && answer.Status/100 == 2 {
			say("%s  %s  %s", time.Now().Format(time.TimeOnly), kind, id)
			return nil
		}
		if err == nil {
			err = fmt.Errorf("status %d", answer.Status)
		}
		if err := waitForRetry(ctx, try, answer.Header, "%s  %s  the receiver: %v", kind, id, err); err != nil {
			return err
		}
	}
}
