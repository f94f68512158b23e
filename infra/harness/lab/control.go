package lab

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// controlHandler returns the control endpoint, for tests and make targets on this machine: GET /endpoints,
// POST /{db,kms}/{stop,start,pause,resume}, POST /schedules/{function}. It is not part of the
// API and answers only on loopback. It refuses requests with an Origin, because in a browser any page could send it a POST.
func (s *Stack) controlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /endpoints", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s.DataPlane) })
	for pattern, handler := range s.options.Control {
		mux.Handle(pattern, handler)
	}
	actions := map[string]func(*http.Request) error{
		"schedules/{function}": func(r *http.Request) error { return s.RunSchedule(r.Context(), r.PathValue("function")) },
	}
	for name, service := range map[string]*Service{"db": &s.DB, "kms": &s.KMS} {
		for action, do := range map[string]func() error{"stop": service.Stop, "pause": service.Pause, "resume": service.Resume} {
			actions[name+"/"+action] = func(*http.Request) error { return do() }
		}
		// The start continues when the client closes the connection.
		actions[name+"/start"] = func(r *http.Request) error { return service.Start(context.WithoutCancel(r.Context())) }
	}
	for name, do := range actions {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
			if err := do(r); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			s.options.Progress("done: " + strings.TrimPrefix(r.URL.Path, "/"))
			w.WriteHeader(http.StatusNoContent)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			http.Error(w, "web pages may not use the control endpoint", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
