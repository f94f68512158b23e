package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Handler gives what may stand at the endpoint's URL. do is called with each
// verified event, again when an event comes again. The answers: 204 when do
// succeeds, 500 when it fails, 401 when the webhook is refused, 503 when the key
// cannot be looked up. All but 204 make the sender try again.
func (v *Verifier) Handler(do func(context.Context, Event) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			refuse(w, http.StatusMethodNotAllowed, "A webhook is a POST")
			return
		}
		// One byte more than a webhook may have, so that Verify sees that it is too large.
		body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
		if err != nil {
			refuse(w, http.StatusBadRequest, "The webhook did not arrive whole")
			return
		}
		event, err := v.Verify(r.Context(), body)
		if err == nil {
			err = do(r.Context(), event)
			if err == nil {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			refuse(w, http.StatusInternalServerError, "The event could not be handled")
		} else if errors.Is(err, ErrRefused) {
			refuse(w, http.StatusUnauthorized, "The webhook is refused")
		} else {
			w.Header().Set("Retry-After", "5")
			refuse(w, http.StatusServiceUnavailable, "The key cannot be looked up now")
		}
		v.config.Report(r.Context(), err)
	})
}

// refuse answers with a problem document (RFC 9457). It does not tell why: that
// is for the receiver's own log.
func refuse(w http.ResponseWriter, status int, title string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"type":"about:blank","title":%q,"status":%d}`, title, status) // the sender has gone: nobody to tell
}
