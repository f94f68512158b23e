package standin

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// Live is a running stack. Calls about it reach the stack.
type Live struct {
	Outputs func() map[string]string

	// Services are the endpoints of services that the stack has, by the name in a signature.
	Services map[string]string

	// Invoke calls a function by its name. Error: the function's failure.
	Invoke func(function string, payload []byte) ([]byte, error)
	// Reserve sets a function's reserved concurrency; less than 0 removes it.
	Reserve func(function string, copies int) error
}

// Lead adds a stack that runs elsewhere. The caller must call it before the first request.
func (s *Standin) Lead(name string, live Live) {
	s.Put(name, "CREATE_COMPLETE", nil)
	s.stacks[name].live, s.live = &live, &live
}

// serveLive answers a call that is for the running stack. It returns false for other calls.
func (s *Standin) serveLive(w http.ResponseWriter, r *http.Request, service string) bool {
	_, path, found := strings.Cut(r.URL.Path, "/functions/")
	if service == "lambda" && found {
		s.serveFunction(w, r, path)
		return true
	}
	endpoint, ok := s.live.Services[service]
	if !ok {
		return false
	}
	to, err := url.Parse(endpoint)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return true
	}
	(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }}).ServeHTTP(w, r)
	return true
}

// serveFunction calls a function, or sets its reserved concurrency.
func (s *Standin) serveFunction(w http.ResponseWriter, r *http.Request, path string) {
	function, action, _ := strings.Cut(path, "/")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var concurrency struct{ ReservedConcurrentExecutions int }
	switch r.Method + " " + action {
	case "POST invocations":
		s.invoke(w, function, body)
		return
	case "PUT concurrency":
		if err = json.Unmarshal(body, &concurrency); err == nil {
			err = s.live.Reserve(function, concurrency.ReservedConcurrentExecutions)
		}
	case "DELETE concurrency":
		err = s.live.Reserve(function, -1)
	default:
		http.Error(w, fmt.Sprintf("the stand-in has no %s %s of a function", r.Method, action), http.StatusNotImplemented)
		return
	}
	switch {
	case err != nil:
		refuse(w, http.StatusNotFound, "ResourceNotFoundException", err.Error())
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		answer(w, concurrency)
	}
}

func (s *Standin) invoke(w http.ResponseWriter, function string, payload []byte) {
	if len(payload) == 0 {
		payload = []byte("{}")
	}
	out, err := s.live.Invoke(function, payload)
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer(w, map[string]any{"errorMessage": err.Error(), "errorType": "error"})
		return
	}
	_, _ = w.Write(out) // an error: the client is gone
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Amzn-ErrorType", code)
	w.WriteHeader(status)
	answer(w, map[string]any{"Message": message})
}
