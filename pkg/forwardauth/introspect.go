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

// maxForm is the largest body of an introspection, in bytes.
const maxForm = 16 << 10

// oauthError is an error answer in the form of RFC 6749, section 5.2, which RFC 7662 uses too.
type oauthError struct {
	Code        string `json:"error"`
	Description string `json:"error_description,omitempty"`
}

func (e *oauthError) Error() string { return e.Code + ": " + e.Description }

func badRequest(description string) error { return &oauthError{"invalid_request", description} }
func badClient(description string) error  { return &oauthError{"invalid_client", description} }

// introspect answers whether a token is active (RFC 7662). The token is an API key, or an access token together with the
// parameter org. The caller has an API key of the owner's org as its client secret; its client id is ignored. A scope
// is not enough to introspect, because the admins of any org choose the scopes of their keys.
func (s *server) introspect(w http.ResponseWriter, r *http.Request) {
	// The checks of the caller and of the token share one time limit.
	ctx, cancel := context.WithTimeout(r.Context(), guard.AnswersWithin)
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
	authorization := []string{"Bearer " + raw}
	var p guard.Principal
	isKey := !accesstoken.LooksLikeJWT(raw)
	if !isKey {
		p, err = s.guard.Member(ctx, authorization, form.Get("org"), org.Viewer)
	}
	if isKey || problem.Is(err, problem.TokenInvalid) { // an imported key may look like a token
		p, err = s.guard.Describe(ctx, authorization)
	}
	switch _, refused := guard.Refused(err); {
	case err == nil:
		answer(w, http.StatusOK, activeAnswer(p))
	case refused:
		answer(w, http.StatusOK, map[string]any{"active": false})
	default:
		fail(w, r, err)
	}
}

// formOf reads the body: application/x-www-form-urlencoded with one token. It ignores the URL's query, but the query must be
// well-formed. Error: invalid_request.
func formOf(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "application/x-www-form-urlencoded" {
		return nil, badRequest("Send the body as application/x-www-form-urlencoded.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, badRequest("The form cannot be read.")
	}
	tokens, orgs, secrets := r.PostForm["token"], r.PostForm["org"], r.PostForm["client_secret"]
	if len(tokens) != 1 || len(orgs) > 1 || len(secrets) > 1 {
		return nil, badRequest("Send exactly one token, at most one org and at most one client_secret.")
	}
	return r.PostForm, nil
}

// mayIntrospect checks the caller, who sends the client secret with Basic authentication or in the form
// (client_secret_basic, client_secret_post). Errors: invalid_request, invalid_client, and any other error when it is not known.
func (s *server) mayIntrospect(r *http.Request, form url.Values) error {
	_, password, isBasic := r.BasicAuth()
	key, err := url.QueryUnescape(password) // the client encodes the password (RFC 6749, section 2.3.1)
	switch {
	case isBasic && form.Has("client_secret"):
		return badRequest("Send either Basic authentication or client_secret, not both.")
	case isBasic && err != nil:
		return badClient("The password in the Basic authentication is not form-encoded.")
	case form.Has("client_secret"):
		key = form.Get("client_secret")
	case !isBasic:
		return badClient("Send an API key of the owner's org as the client secret.")
	}
	p, err := s.guard.Describe(r.Context(), []string{"Bearer " + key})
	if refused, ok := guard.Refused(err); ok {
		logRefusal(r, refused)
		return badClient(refused.Detail)
	}
	isOwners := s.owner != "" && p.OrgID == string(s.owner)
	if err == nil && !isOwners {
		logRefusal(r, &problem.Error{Code: problem.InsufficientRole, KeyID: p.KeyID})
		return badClient("Only API keys of the owner's org can introspect. The deployment's parameter OwnerOrgId names this org.")
	}
	return err
}

// fail answers 400 or 401 for an oauthError, and 503 for any other error.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusServiceUnavailable
	refused, ok := err.(*oauthError) //nolint:errorlint // this file makes these errors and never wraps them
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

// activeAnswer returns the answer for an active token (RFC 7662, section 2.2), together with the fields of its principal.
// For an API key, client_id is the app. exp is in seconds, and is missing when the key never expires.
func activeAnswer(p guard.Principal) map[string]any {
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

// answer writes body as JSON.
func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
