package lambda

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"latchkey/infra/lab/translated"
)

// version is the version of the Runtime API. Every path has it.
const version = "2018-06-01"

// maxAnswer is Lambda's limit of a synchronous answer, in bytes.
const maxAnswer = 6 << 20

// serve is the Runtime API of every copy. Its address ends in /function.copy, so paths are
// /function.copy/2018-06-01/runtime/….
func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	who, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	c := s.find(who)
	if c == nil {
		http.Error(w, "no such copy", http.StatusNotFound)
		return
	}
	call, ok := strings.CutPrefix(rest, version+"/runtime/")
	switch {
	case ok && r.Method == http.MethodGet && call == "invocation/next":
		c.serveNext(w, r)
	case ok && r.Method == http.MethodPost && call == "init/error":
		_, _ = io.Copy(c.pool.log, r.Body)
		w.WriteHeader(http.StatusAccepted)
	case ok && r.Method == http.MethodPost && strings.HasPrefix(call, "invocation/"):
		c.serveAnswer(w, r, strings.TrimPrefix(call, "invocation/"))
	default:
		http.NotFound(w, r)
	}
}

func (s *Service) find(who string) *process {
	name, number, _ := strings.Cut(who, ".")
	id, err := strconv.Atoi(number)
	p, ok := s.pools[name]
	if err != nil || !ok {
		return nil
	}
	return p.find(id)
}

// serveNext sends the copy its next event. The copy is frozen until there is one.
func (c *process) serveNext(w http.ResponseWriter, r *http.Request) {
	c.first.Do(func() { close(c.asked) })
	var e event
	select {
	case e = <-c.events: // a call waits already, so do not freeze
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
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(e.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", translated.ARN("lambda", "function:"+c.pool.function.Name))
	h.Set("Content-Type", "application/json")
	_, _ = w.Write(e.payload)
}

// serveAnswer takes the copy's answer to a call: …/response or …/error.
func (c *process) serveAnswer(w http.ResponseWriter, r *http.Request, call string) {
	id, kind, _ := strings.Cut(call, "/")
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
