package lab

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
)

// Info is the control endpoint's description of a stack: GET /info.
type Info struct {
	URL          string            `json:"url"`
	PID          int               `json:"pid"`
	LogDir       string            `json:"logDir"`
	Endpoints    Endpoints         `json:"endpoints"`
	Consumer     string            `json:"consumer,omitempty"`
	FunctionURLs map[string]string `json:"functionUrls"`
}

// Info describes the stack.
func (s *Stack) Info() Info {
	return Info{
		URL: s.URL, PID: os.Getpid(), LogDir: s.LogDir, Endpoints: s.DataPlane, Consumer: s.Consumer, FunctionURLs: s.FunctionURLs,
	}
}

// controlHandler returns the control endpoint, for tests and make targets on this machine: GET /info,
// GET /copies?function=, POST /{db,kms}/{stop,start,pause,resume}, POST /schedules/{function}. It is not part of the
// API and answers only on loopback. It refuses requests with an Origin: a browser lets any page send a POST to it.
func (s *Stack) controlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Info()) })
	mux.HandleFunc("GET /copies", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, s.Copies(r.URL.Query().Get("function"))) })
	for pattern, handler := range s.options.Control {
		mux.Handle(pattern, handler)
	}
	// A service that starts again does not stop when the client of the request goes away.
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
