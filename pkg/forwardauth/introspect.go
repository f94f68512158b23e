package forwardauth

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/guard"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
)

// maxForm bounds the body of an introspection, in bytes.
const maxForm = 16 << 10

// oauthError is a refusal in the form of RFC 6749, section 5.2, which RFC 7662 has too.
type oauthError struct {
	Code        string `json:"error"`
	Description string `json:"error_description,omitempty"`
}

func (e *oauthError) Error() string { return e.Code + ": " + e.Description }

func badRequest(description string) error { return &oauthError{"invalid_request", description} }
func badClient(description string) error  { return &oauthError{"invalid_client", description} }

// introspect answers whether a token, which is an API key, or an access token together with the
// parameter org, is good (RFC 7662). The caller has an API key of the owner's org as its client secret; its
// client id does not count. Any customer's admin writes scopes, so a scope does not open this.
func (s *server) introspect(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), guard.AnswersWithin) // of both checks
	defer cancel()
	r = r.WithContext(ctx)
	form, err := formOf(w, r)
	if err == nil {
		err = s.mayIntrospect(r, form)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	raw := form.Get("token")
	token := []string{"Bearer " + raw}
	var p guard.Principal
	if accesstoken.LooksLikeJWT(raw) {
		p, err = s.guard.Member(ctx, token, form.Get("org"), org.Viewer)
	} else {
		p, err = s.guard.Key(ctx, token)
	}
	switch _, refused := guard.Refused(err); {
	case err == nil:
		answer(w, http.StatusOK, fieldsOf(p))
	case refused:
		answer(w, http.StatusOK, map[string]any{"active": false})
	default:
		fail(w, r, err)
	}
}

// formOf reads the body: application/x-www-form-urlencoded with one token.
func formOf(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
		return nil, badRequest("Send application/x-www-form-urlencoded.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, badRequest("The form cannot be read.")
	}
	if f := r.PostForm; len(f["token"]) != 1 || len(f["org"]) > 1 || len(f["client_secret"]) > 1 {
		return nil, badRequest("Send one token, and one org and one client_secret at the most.")
	}
	return r.PostForm, nil
}

// mayIntrospect checks the caller: by client_secret_basic or by client_secret_post.
func (s *server) mayIntrospect(r *http.Request, form url.Values) error {
	_, password, basic := r.BasicAuth()
	key, err := url.QueryUnescape(password) // RFC 6749, section 2.3.1
	switch {
	case basic && form.Has("client_secret"):
		return badRequest("Authenticate once: by Basic or by client_secret.")
	case basic && err != nil:
		return badClient("The password of Basic is not form-encoded.")
	case form.Has("client_secret"):
		key = form.Get("client_secret")
	case !basic:
		return badClient("Send an API key of the owner's org as the client secret.")
	}
	p, err := s.guard.Key(r.Context(), []string{"Bearer " + key})
	if refused, ok := guard.Refused(err); ok {
		logRefusal(r, refused)
		return badClient(refused.Detail)
	}
	if err == nil && (s.owner == "" || p.OrgID != string(s.owner)) {
		logRefusal(r, &problem.Error{Code: problem.InsufficientRole, KeyID: p.KeyID})
		return badClient("Only API keys of the org that the parameter OwnerOrgId names may introspect.")
	}
	return err
}

// fail answers 400 or 401 with an oauthError, and 503 for any other error.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusServiceUnavailable
	refused, ok := err.(*oauthError) //nolint:errorlint // made here, and never wrapped
	switch {
	case !ok:
		logUnknown(r, err)
		refused = &oauthError{Code: "temporarily_unavailable"}
		w.Header().Set("Retry-After", "1")
	case refused.Code == "invalid_client":
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Basic realm="introspect"`)
	default:
		status = http.StatusBadRequest
	}
	answer(w, status, refused)
}

// fieldsOf returns the answer for a principal (RFC 7662, section 2.2): client_id is the app of an API
// key, exp is in seconds and absent when the key never expires, and the fields of the principal are
// beside them.
func fieldsOf(p guard.Principal) map[string]any {
	out := map[string]any{"active": true, "sub": p.ID(), "token_type": "Bearer"}
	for name, value := range p.Fields() {
		out[name] = value
	}
	if p.Kind == guard.Key {
		out["client_id"] = p.AppID
		if len(p.Scopes) > 0 {
			out["scope"] = out["scopes"]
		}
		if p.ExpiresAt != 0 {
			out["exp"] = p.ExpiresAt / 1000
		}
	}
	return out
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
