package main

import (
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
	org, err := a.post(ctx, token, "/v1/orgs", `{"name":"Acme"}`)
	if err != nil {
		return err
	}
	key, err := a.post(ctx, token, "/v1/orgs/"+org.ID+"/keys", "{}")
	if err != nil {
		return err
	}
	var found []report
	for _, run := range []struct{ credential, option string }{{key.Key, "--exclude-path-regex"}, {token, "--include-path-regex"}} {
		failed, err := a.fuzz(ctx, run.credential, run.option, "^/v1")
		if err != nil {
			return err
		}
		found = append(found, failed...)
	}
	return compare("schemathesis", found, listed)
}

// fuzz runs all phases of Schemathesis and returns the checks that failed. routes are command-line options that
// choose the routes. The seed is fixed, so that runs on the same document try the same requests.
func (a *api) fuzz(ctx context.Context, credential string, routes ...string) ([]report, error) {
	root, errRoot := tools.Root()
	bin, errBin := pythonBin(ctx)
	if err := errors.Join(errRoot, errBin); err != nil {
		return nil, err
	}
	dir := filepath.Join(root, ".local", "clients")
	events := filepath.Join(dir, "schemathesis.ndjson")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.RemoveAll(events)); err != nil {
		return nil, err
	}
	args := append([]string{"run", filepath.Join(root, "infra", "openapi.yaml"), "--url", a.stack.URL, "-H", "Authorization: Bearer " + credential,
		"--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "10", "--seed", "1", "--continue-on-failure", "--no-color",
		"--report", "ndjson", "--report-ndjson-path", events}, routes...)
	output, failed := tools.Output(ctx, dir, nil, filepath.Join(bin, "schemathesis"), args...)
	text, err := os.ReadFile(events)
	if err != nil {
		return nil, errors.Join(err, failed)
	}
	reports, err := readEvents(text)
	if err == nil && len(reports) == 0 { // with reports, the failed exit status is expected
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, tools.Tail([]byte(output)))
	}
	return reports, nil
}

// event has the fields that are read from a line of Schemathesis's report.
type event struct {
	ScenarioFinished *struct{ Recorder scenario }
	EngineFinished   *struct {
		StopReason string `json:"stop_reason"`
	}
	NonFatalError, FatalError json.RawMessage
}

// scenario has cases with their checks, requests and answers. The key of each map is the id of a case.
type scenario struct {
	Label string
	Cases map[string]struct {
		Parent string `json:"parent_id"` // the id of the case before it
	}
	Checks       map[string][]struct{ Name, Status string }
	Interactions map[string]struct {
		Request  struct{ Body content }
		Response *response
	}
}

type response struct {
	Status  int                 `json:"status_code"`
	Headers map[string][]string // by names in lower case
	Content content
}

type content struct {
	Base64 []byte `json:"$base64"`
}

// readEvents returns the checks that failed. It returns an error if the run was not completed, or had no cases.
func readEvents(text []byte) (found []report, err error) {
	tried, ended := 0, false
	for lines := json.NewDecoder(bytes.NewReader(text)); lines.More(); {
		var e event
		if err := lines.Decode(&e); err != nil {
			return nil, err
		}
		if failure := cmp.Or(string(e.NonFatalError), string(e.FatalError)); failure != "" {
			return nil, fmt.Errorf("schemathesis failed: %s", failure)
		}
		if e.EngineFinished != nil {
			ended = e.EngineFinished.StopReason == "completed"
		}
		if e.ScenarioFinished != nil {
			tried += len(e.ScenarioFinished.Recorder.Checks)
			found = append(found, e.ScenarioFinished.Recorder.failed()...)
		}
	}
	if !ended || tried == 0 {
		return nil, fmt.Errorf("schemathesis did not finish: %d cases", tried)
	}
	return found, nil
}

// failed returns the checks of a scenario that failed.
func (s scenario) failed() (found []report) {
	for id, checks := range s.Checks {
		for _, c := range checks {
			if c.Status == "success" {
				continue
			}
			where := s.Label + " " + s.Interactions[id].Response.line()
			before := s.Interactions[s.Cases[id].Parent].Response // the answer that gave this case its values
			if c.Name == "ensure_resource_availability" && before != nil && len(before.Headers["idempotency-replayed"]) > 0 {
				where += " after a replay"
			}
			found = append(found, report{"schemathesis", c.Name, where, string(s.Interactions[id].Request.Body.Base64)})
		}
	}
	return found
}

// line describes an answer in one line: the status, the code of an error, and each invalid value.
func (r *response) line() string {
	if r == nil {
		return "no answer"
	}
	var problem struct {
		Code   string
		Errors []struct{ Pointer, Code string }
	}
	_ = json.Unmarshal(r.Content.Base64, &problem) // an answer without a problem document has no code
	text := strings.TrimSpace(fmt.Sprint(r.Status, " ", problem.Code))
	for _, e := range problem.Errors {
		text += " " + e.Pointer + " " + e.Code
	}
	return text
}
