package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"latchkey/infra/local/backing"
)

// Info is what the control endpoint tells of a stack: GET /info.
type Info struct {
	URL       string    `json:"url"`
	PID       int       `json:"pid"`
	LogDir    string    `json:"logDir"`
	Issuer    string    `json:"issuer"`
	Audience  string    `json:"audience"`
	TableName string    `json:"tableName"`
	Endpoints Endpoints `json:"endpoints"`
}

// Info describes the stack.
func (s *Stack) Info() Info {
	return Info{URL: s.URL, PID: os.Getpid(), LogDir: s.LogDir, Issuer: s.Issuer, Audience: backing.Audience, TableName: s.TableName, Endpoints: s.DataPlane}
}

// controlHandler is for tests and the make targets of this machine; it is not
// part of the API and answers on loopback alone. GET /info, GET
// /copies?function=, GET /userinfo, POST /db/{stop,start,pause,resume}.
func (s *Stack) controlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Info()) })
	mux.HandleFunc("GET /copies", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, s.Copies(r.URL.Query().Get("function"))) })
	mux.Handle("GET /userinfo", backing.UserinfoHandler(s.Issuer))
	for name, do := range map[string]func(context.Context) error{
		"stop": func(context.Context) error { return s.StopDB() }, "start": s.StartDB,
		"pause": func(context.Context) error { return s.PauseDB() }, "resume": func(context.Context) error { return s.ResumeDB() },
	} {
		mux.HandleFunc("POST /db/"+name, func(w http.ResponseWriter, r *http.Request) {
			if err := do(context.WithoutCancel(r.Context())); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			s.options.Progress("database: " + name)
			w.WriteHeader(http.StatusNoContent)
		})
	}
	return mux
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// probeLimit bounds the wait for the first request to succeed.
const probeLimit = 20 * time.Second

// probe makes one real request: a service's token opens GET /v1/orgs, so gateway,
// authorizer and issuer work together, and makes no user. An API without that
// route has only to answer.
func (s *Stack) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	token, err := s.Token(ctx, backing.Service, "ready", "", "")
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/orgs", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("the first request: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err != nil {
		return err
	}
	// 401 would mean that the authorizer refuses the local issuer's tokens.
	if res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusUnauthorized {
		return errors.New("the first request was answered " + res.Status + ": " + string(body) + " (logs: " + s.LogDir + ")")
	}
	return nil
}
