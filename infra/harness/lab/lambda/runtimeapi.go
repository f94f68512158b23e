package lambda

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"latchkey/infra/template/translated"
)

// maxAnswer is Lambda's limit for a synchronous answer, in bytes.
const maxAnswer = 6 << 20

// runtimeAPI is the Runtime API of every copy. Each copy gets an address that ends in /<function>.<id of the copy>, so
// paths begin with this.
func (s *Service) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	for path, serve := range map[string]func(*process, http.ResponseWriter, *http.Request){
		"GET /{copy}/2018-06-01/runtime/invocation/next":         (*process).serveNext,
		"POST /{copy}/2018-06-01/runtime/invocation/{id}/{kind}": (*process).serveAnswer,
		"POST /{copy}/2018-06-01/runtime/init/error":             (*process).serveFailedStart,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if c := s.find(r.PathValue("copy")); c != nil {
				serve(c, w, r)
				return
			}
			http.Error(w, "no such copy", http.StatusNotFound)
		})
	}
	return mux
}

// find returns the running copy <function>.<id>, or nil.
func (s *Service) find(copyName string) *process {
	name, number, _ := strings.Cut(copyName, ".")
	id, err := strconv.Atoi(number)
	p, ok := s.pools[name]
	if err != nil || !ok {
		return nil
	}
	return p.find(id)
}

// serveNext sends the copy its next event. It freezes the copy until there is an event.
func (c *process) serveNext(w http.ResponseWriter, r *http.Request) {
	c.first.Do(func() { close(c.ready) })
	var e event
	select {
	case e = <-c.events: // a call waits already, so the copy is not frozen
	default:
		c.freeze()
		select {
		case e = <-c.events:
			c.thaw()
		case <-r.Context().Done():
			return
		}
	}
	h := w.Header()
	h.Set("Lambda-Runtime-Aws-Request-Id", e.id)
	h.Set("Lambda-Runtime-Trace-Id", e.trace)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(e.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", translated.ARN("lambda", "function:"+c.pool.function.Name))
	h.Set("Content-Type", "application/json")
	_, _ = w.Write(e.payload)
}

// serveFailedStart logs why the copy did not start.
func (c *process) serveFailedStart(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(c.pool.log, r.Body)
	w.WriteHeader(http.StatusAccepted)
}

// serveAnswer reads the copy's answer to a call: …/response or …/error.
func (c *process) serveAnswer(w http.ResponseWriter, r *http.Request) {
	id, kind := r.PathValue("id"), r.PathValue("kind")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAnswer))
	if err != nil {
		_ = c.settle(id, answer{err: &FunctionError{Type: "Function.ResponseSizeTooLarge", Message: err.Error()}})
		return
	}
	a := answer{payload: body}
	if kind == "error" {
		a = answer{err: failure(body)}
	} else if kind != "response" {
		http.NotFound(w, r)
		return
	}
	if err := c.settle(id, a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
