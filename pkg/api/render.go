package api

import (
	"encoding/json"
	"net/http"

	"latchkey/pkg/problem"
)

// ok answers 200 with a body.
func ok(body any) answer { return answer{status: http.StatusOK, body: body} }

// noContent answers 204.
func noContent() answer { return answer{status: http.StatusNoContent} }

// created answers 201. kept, when there is one, is the answer of the first
// request with the same Idempotency-Key, sent again as it was.
func created(body raw, kept []byte) answer {
	if kept != nil {
		return answer{
			status: http.StatusCreated, body: raw(kept),
			header: map[string]string{"Idempotency-Replayed": "true"},
		}
	}
	return answer{status: http.StatusCreated, body: body}
}

// render marshals an answer's body.
func render(body any) (raw, error) {
	if r, ok := body.(raw); ok {
		return r, nil
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, problem.From(err)
	}
	return b, nil
}

func (a answer) write(w http.ResponseWriter) error {
	var body raw
	if a.body != nil {
		var err error
		if body, err = render(a.body); err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.status)
	if body != nil {
		_, _ = w.Write(body) // the caller has gone: nobody to tell
	}
	return nil
}

// orNull gives nil, which renders as null, for a time that is not set.
func orNull(at int64) *int64 {
	if at == 0 {
		return nil
	}
	return &at
}
