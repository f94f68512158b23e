package forwardauth

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"

	"latchkey/pkg/authn/accesstoken"
	"latchkey/pkg/guard"
	"latchkey/pkg/org"
	"latchkey/pkg/problem"
)

// maxForm bounds the body of an introspection, in bytes.
const maxForm = 16 << 10

// introspect answers whether a token, which is an API key, or an access token together with the
// parameter org, is good. The caller has Basic authentication, with an API key of the owner's org as
// the password; the user name does not count. Any customer's admin writes scopes, so a scope does
// not open this.
func (s *server) introspect(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), guard.AnswersWithin) // of both checks
	defer cancel()
	r = r.WithContext(ctx)
	if err := s.mayIntrospect(r); err != nil {
		refuseCaller(w, r, err)
		return
	}
	form, err := formOf(w, r)
	if err != nil {
		problem.Write(r.Context(), w, err)
		return
	}
	token := []string{"Bearer " + form.token}
	var p guard.Principal
	if accesstoken.LooksLikeJWT(form.token) {
		p, err = s.guard.Member(r.Context(), token, form.org, org.Viewer)
	} else {
		p, err = s.guard.Key(r.Context(), token)
	}
	switch _, refused := guard.Refused(err); {
	case err == nil:
		answer(w, fieldsOf(p))
	case refused:
		answer(w, map[string]any{"active": false})
	default:
		cannotTell(w, r, err)
	}
}

// mayIntrospect checks the caller. A refusal is a 401 or, for a good API key of another org, a 403.
func (s *server) mayIntrospect(r *http.Request) error {
	_, key, ok := r.BasicAuth()
	if !ok {
		return problem.New(problem.MissingCredentials, "Send Basic authentication with an API key of the owner's org as the password.")
	}
	p, err := s.guard.Key(r.Context(), []string{"Bearer " + key})
	if err != nil {
		return err
	}
	if s.owner == "" || p.OrgID != string(s.owner) {
		return problem.New(problem.InsufficientRole, "Only API keys of the org that the parameter OwnerOrgId names may introspect.")
	}
	return nil
}

func refuseCaller(w http.ResponseWriter, r *http.Request, err error) {
	refused, ok := guard.Refused(err)
	if !ok {
		cannotTell(w, r, err)
		return
	}
	if refused.Code.Status() == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="introspect"`)
	}
	problem.Write(r.Context(), w, refused)
}

type form struct{ token, org string }

// formOf reads the body: application/x-www-form-urlencoded with one token.
func formOf(w http.ResponseWriter, r *http.Request) (form, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
		return form{}, problem.New(problem.UnsupportedMediaType, "Send application/x-www-form-urlencoded.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return form{}, problem.Wrap(problem.ValidationFailed, "The form cannot be read.", err)
	}
	if len(r.PostForm["token"]) != 1 || len(r.PostForm["org"]) > 1 {
		return form{}, problem.Invalid("/token", "required", "Send one token, and one org at the most.")
	}
	return form{r.PostForm.Get("token"), r.PostForm.Get("org")}, nil
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

func answer(w http.ResponseWriter, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}
