package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Live is a stack that runs: what is asked of AWS about it reaches it.
type Live struct {
	Outputs func() map[string]string

	// Services answer for those that the stand-in is not, by the name in a signature; ""
	// is all others.
	Services map[string]http.Handler

	// Invoke calls a function by its name. Error: ErrThrottled, or what it failed with.
	Invoke func(function string, payload []byte) ([]byte, error)
	// Reserve sets a function's reserved concurrency; less than 0 is none.
	Reserve func(function string, copies int) error
}

// ErrThrottled is why Lambda does not call a function.
var ErrThrottled = errors.New("the function is throttled")

// Lead puts a stack there that runs elsewhere. It is called before the first request.
func (s *Standin) Lead(name string, live Live) {
	s.Put(name, "CREATE_COMPLETE", nil)
	s.stacks[name].live, s.live = &live, &live
}

// serveLive answers a call that reaches the stack that runs; false is one that does not.
func (s *Standin) serveLive(w http.ResponseWriter, r *http.Request, service string) bool {
	_, path, found := strings.Cut(r.URL.Path, "/functions/")
	if service == "lambda" && found {
		s.serveFunction(w, r, path)
		return true
	}
	switch service {
	case "sts", "cloudformation", "s3", "lambda":
		return false
	}
	handler, ok := s.live.Services[service]
	if !ok {
		handler = s.live.Services[""]
	}
	handler.ServeHTTP(w, r)
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
	switch {
	case errors.Is(err, ErrThrottled):
		refuse(w, http.StatusTooManyRequests, "TooManyRequestsException", "Rate Exceeded.")
	case err != nil:
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer(w, map[string]any{"errorMessage": err.Error(), "errorType": "error"})
	default:
		_, _ = w.Write(out) // a client that went away is no matter
	}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Amzn-ErrorType", code)
	w.WriteHeader(status)
	answer(w, map[string]any{"Message": message})
}
