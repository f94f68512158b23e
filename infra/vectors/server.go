package vectors

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Handler answers key lookups and the JWKS from the vectors, for receivers under test.
func (v Vectors) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhook_verification_key/get", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Kid string `json:"kid"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a, ok := v.Lookups[in.Kid]
		if !ok {
			a = v.Otherwise
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", a.MaxAge))
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body) // an error: the receiver is gone
	})
	mux.HandleFunc("GET /.well-known/jwks.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		_, _ = w.Write(v.JWKS) // as above
	})
	return mux
}
