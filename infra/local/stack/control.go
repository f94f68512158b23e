package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Info is the control endpoint's description of a stack: GET /info.
type Info struct {
	URL       string    `json:"url"`
	PID       int       `json:"pid"`
	LogDir    string    `json:"logDir"`
	Issuer    string    `json:"issuer"`
	Audience  string    `json:"audience"`
	TableName string    `json:"tableName"`
	Endpoints Endpoints `json:"endpoints"`

	Consumer     string            `json:"consumer,omitempty"`
	FunctionURLs map[string]string `json:"functionUrls"`
}

// Info describes the stack.
func (s *Stack) Info() Info {
	audience := Audience
	if !s.OwnIssuer() {
		audience = s.template.Parameters["Audience"]
	}
	return Info{
		URL: s.URL, PID: os.Getpid(), LogDir: s.LogDir, Issuer: s.Issuer, Audience: audience, TableName: s.TableName, Endpoints: s.DataPlane,
		Consumer: s.Consumer, FunctionURLs: s.FunctionURLs,
	}
}

// controlHandler returns the control endpoint, for tests and make targets on this machine. It is not part
// of the API and answers only on loopback. It refuses pages: a browser lets any page send a plain POST to this machine,
// with its Origin. GET /info, GET /copies?function=, GET /userinfo,
// POST /{db,kms}/{stop,start,pause,resume}, POST /schedules/{function}.
func (s *Stack) controlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Info()) })
	mux.HandleFunc("GET /copies", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, s.Copies(r.URL.Query().Get("function"))) })
	if s.OwnIssuer() {
		mux.Handle("GET /userinfo", userinfoHandler(s.Issuer))
	}
	plain := func(do func() error) func(*http.Request) error { return func(*http.Request) error { return do() } }
	for name, do := range map[string]func(*http.Request) error{
		"db/stop": plain(s.StopDB), "db/pause": plain(s.PauseDB), "db/resume": plain(s.ResumeDB),
		"db/start": func(r *http.Request) error { return s.StartDB(context.WithoutCancel(r.Context())) },
		"kms/stop": plain(s.StopKMS), "kms/pause": plain(s.PauseKMS), "kms/resume": plain(s.ResumeKMS),
		"kms/start":            func(r *http.Request) error { return s.StartKMS(context.WithoutCancel(r.Context())) },
		"schedules/{function}": func(r *http.Request) error { return s.RunSchedule(r.Context(), r.PathValue("function")) },
	} {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
			if err := do(r); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			s.options.Progress("asked for " + strings.TrimPrefix(r.URL.Path, "/"))
			w.WriteHeader(http.StatusNoContent)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			http.Error(w, "pages may not use the control endpoint", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// probeLimit bounds the wait for the first request to succeed.
const probeLimit = time.Minute

// probe makes one real request: GET /v1/orgs with a service's token, which makes no user. So
// gateway, authorizer and issuer work together. An API without that route only has to answer.
// Without an issuer of its own the stack has no token: the authorizer only has to start, and
// refuses the request.
func (s *Stack) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/orgs", nil)
	if err != nil {
		return err
	}
	if s.OwnIssuer() {
		token, err := s.Token(ctx, Service, "ready", "", "")
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("the first request: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err != nil {
		return err
	}
	// A 401 would mean that the authorizer refuses tokens of the stack's own issuer.
	if res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusUnauthorized && s.OwnIssuer() {
		return errors.New("the first request was answered " + res.Status + ": " + string(body) + " (logs: " + s.LogDir + ")")
	}
	return nil
}
