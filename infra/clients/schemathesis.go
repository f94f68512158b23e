package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"latchkey/infra/tools"
)

// schemathesis runs Schemathesis on the API: under /v1 with an access token, elsewhere with
// an API key. The run with the key comes first: the run under /v1 may delete the key's org.
func schemathesis(ctx context.Context, a *api) error {
	token, err := a.token(ctx, "schemathesis@example.com")
	if err != nil {
		return err
	}
	key, err := a.key(ctx, token)
	if err != nil {
		return err
	}
	var found []report
	for _, run := range []struct{ credential, routes string }{
		{key, "--exclude-path-regex"},
		{token, "--include-path-regex"},
	} {
		reports, err := a.fuzz(ctx, run.credential, run.routes, "^/v1")
		if err != nil {
			return err
		}
		found = append(found, reports...)
	}
	return against("schemathesis", found)
}

// fuzz runs all phases of Schemathesis and returns the checks that failed. The seed is
// fixed, so that runs on the same document try the same requests.
func (a *api) fuzz(ctx context.Context, credential string, routes ...string) ([]report, error) {
	root, err := tools.Root()
	if err != nil {
		return nil, err
	}
	bin, err := pythonBin(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "schemathesis-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	events := filepath.Join(dir, "events")
	args := append([]string{"run", filepath.Join(root, "infra", "openapi.yaml"), "--url", a.stack.URL, "-H", "Authorization: Bearer " + credential,
		"--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "10", "--seed", "1", "--continue-on-failure", "--no-color",
		"--report", "ndjson", "--report-ndjson-path", events}, routes...)
	said, failed := output(ctx, dir, nil, filepath.Join(bin, "schemathesis"), args...)
	text, err := os.ReadFile(events)
	if err != nil {
		return nil, errors.Join(err, failed)
	}
	reports, err := readEvents(text)
	if err == nil && len(reports) == 0 { // a failure without a report
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, last([]byte(said)))
	}
	return reports, nil
}

// event has the fields that are read from a line of Schemathesis's report.
type event struct {
	ScenarioFinished *struct {
		Status   string
		Recorder struct {
			Label string
			Cases map[string]struct {
				Parent string `json:"parent_id"` // the case that it follows
			}
			Checks map[string][]struct {
				Name   string
				Status string
			}
			Interactions map[string]struct {
				Request  exchange
				Response *exchange
			}
		}
	}
	EngineFinished *struct {
		StopReason string `json:"stop_reason"`
	}
	NonFatalError, FatalError json.RawMessage
}

// exchange is a request or an answer.
type exchange struct {
	Status  int                 `json:"status_code"`
	Headers map[string][]string // by names in lower case
	Body    content
	Content content
}

type content struct {
	Base64 []byte `json:"$base64"`
}

// readEvents returns the checks that failed. A run that was not completed, or that tried
// nothing, is an error.
func readEvents(text []byte) ([]report, error) {
	var found []report
	tried, ended := 0, false
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 256<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		if wrong := cmp.Or(string(e.NonFatalError), string(e.FatalError)); wrong != "" {
			return nil, fmt.Errorf("schemathesis failed: %s", wrong)
		}
		if e.EngineFinished != nil {
			ended = e.EngineFinished.StopReason == "completed"
		}
		if e.ScenarioFinished != nil {
			cases, failed := e.failed()
			tried += cases
			found = append(found, failed...)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if !ended || tried == 0 {
		return nil, fmt.Errorf("schemathesis did not come to its end: %d cases", tried)
	}
	return found, nil
}

// failed returns how many cases a scenario had, and its checks that failed.
func (e event) failed() (cases int, found []report) {
	r := e.ScenarioFinished.Recorder
	for id, checks := range r.Checks {
		for _, c := range checks {
			if c.Status != "success" {
				i := r.Interactions[id]
				where := r.Label + " " + i.Response.said()
				if before := r.Interactions[r.Cases[id].Parent].Response; c.Name == "ensure_resource_availability" && before.replayed() {
					where += " after a replay"
				}
				found = append(found, report{"schemathesis", c.Name, where, string(i.Request.Body.Base64)})
			}
		}
	}
	return len(r.Checks), found
}

// replayed reports whether an answer is that of an earlier request with the same Idempotency-Key.
func (x *exchange) replayed() bool { return x != nil && len(x.Headers["idempotency-replayed"]) > 0 }

// said names an answer: the status, the code of an error, and each invalid value.
func (x *exchange) said() string {
	if x == nil {
		return "no answer"
	}
	var problem struct {
		Code   string
		Errors []struct{ Pointer, Code string }
	}
	_ = json.Unmarshal(x.Content.Base64, &problem) // an answer without a problem document has no code
	said := strings.TrimSpace(fmt.Sprint(x.Status, " ", problem.Code))
	for _, e := range problem.Errors {
		said += " " + e.Pointer + " " + e.Code
	}
	return said
}
