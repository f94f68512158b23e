package api

import (
	"net/http"
	"slices"

	"latchkey/pkg/plainjson"
)

// ok returns an answer 200 with a body.
func ok(body any) answer { return answer{status: http.StatusOK, body: body} }

// okBody is the body of an answer that has nothing else to show.
type okBody struct {
	OK bool `json:"ok"`
}

// write sends the answer. JSON ends in a newline, so that the prompt of a terminal begins on a new line.
func (a answer) write(w http.ResponseWriter) error {
	var body []byte
	switch b := a.body.(type) {
	case nil: // no body
	case document:
		body = b.text
		w.Header().Set("Content-Type", b.mediaType+"; charset=utf-8")
	default:
		marshalled, err := plainjson.Marshal(b)
		if err != nil {
			return err
		}
		body = slices.Concat(marshalled, []byte("\n"))
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.status)
	if body != nil {
		_, _ = w.Write(body) // an error means that the caller has gone
	}
	return nil
}

// orNull returns nil, which renders as null, for a value that is not set.
func orNull[T comparable](v T) *T {
	var unset T
	if v == unset {
		return nil
	}
	return &v
}
