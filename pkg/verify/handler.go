package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Handler returns a handler for the endpoint's URL. It calls do with each verified event, and
// again when the event comes again. It answers 204 when do succeeds, 500 when do fails, 401 when
// the webhook is refused, and 503 when the key cannot be looked up; it reports the errors of these last three cases (Config.Report). It
// answers 405 to another method than POST, and 400 to an incomplete body. After any other answer than 204,
// the sender tries again.
func (v *Verifier) Handler(do func(context.Context, Event) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			refuse(w, http.StatusMethodNotAllowed, "A webhook is a POST")
			return
		}
		// One byte more than a webhook may have, so that Verify refuses a larger one.
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
		if v.config.Report != nil {
			_ = v.reports.Report(func() { v.config.Report(r.Context(), err) }) // LostReports counts a lost report
		}
	})
}

// refuse answers with a problem document (RFC 9457). The document does not show the reason of a refusal, which is only
// for the receiver's log.
func refuse(w http.ResponseWriter, status int, title string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"type":"about:blank","title":%q,"status":%d}`, title, status) // an error means that the sender has gone
}
