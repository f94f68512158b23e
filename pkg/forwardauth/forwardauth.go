// Package forwardauth checks credentials for proxies and programs: forward
// authentication (nginx, Caddy, Traefik, Envoy) and token introspection (RFC 7662).
package forwardauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/guard"
	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/metric"
	"latchkey/pkg/org"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

const (
	keyPath        = "/authorize"
	memberPath     = "/authorize-member"
	introspectPath = "/introspect"

	codeHeader = "X-Latchkey-Code" // header of an answer: the code of a refusal

	// Headers of a request that the proxy itself sets, not its client.
	secretHeader   = "X-Latchkey-Secret" //nolint:gosec // a name, not a secret
	clientIPHeader = "X-Latchkey-Client-Ip"
)

// headers has the header for each field of a principal.
var headers = [...]struct{ field, header string }{
	{"v", "X-Latchkey-V"},
	{"kind", "X-Latchkey-Kind"},
	{"orgId", "X-Latchkey-Org-Id"},
	{"appId", "X-Latchkey-App-Id"},
	{"keyId", "X-Latchkey-Key-Id"},
	{"keyPrefix", "X-Latchkey-Key-Prefix"},
	{"keyName", "X-Latchkey-Key-Name"},
	{"scopes", "X-Latchkey-Scopes"},
	{"metadata", "X-Latchkey-Metadata"},
	{"expiresAt", "X-Latchkey-Expires-At"},
	{"plan", "X-Latchkey-Plan"},
	{"userId", "X-Latchkey-User-Id"},
	{"role", "X-Latchkey-Role"},
	{"email", "X-Latchkey-Email"},
	{"rateLimitPolicy", "X-Latchkey-Ratelimit-Policy"},
	{"rateLimit", "X-Latchkey-Ratelimit"},
}

// Headers returns the names of all headers that describe the caller to the program after the proxy. A
// proxy must remove them from the requests of its clients, because a client could send them too.
func Headers() []string {
	names := make([]string, 0, len(headers)+1)
	for _, h := range headers {
		names = append(names, h.header)
	}
	return append(names, codeHeader)
}

// server answers the three paths.
type server struct {
	guard   *guard.Guard
	owner   id.Org // the org whose API keys may introspect; "": no key may
	limited metric.Counter
	secrets [][sha256.Size]byte // a request must have a secret with one of these hashes; empty: it needs none
}

// New returns the handler. The API keys of the org owner may introspect; with owner "", no key may. If there are secrets, each
// request must have one of them in the header X-Latchkey-Secret.
func New(g *guard.Guard, owner id.Org, secrets ...string) http.Handler {
	s := &server{guard: g, owner: owner}
	for _, secret := range secrets {
		s.secrets = append(s.secrets, sha256.Sum256([]byte(secret)))
	}
	return s
}

// ServeHTTP answers /authorize, any path below it, and /authorize-member, with any method: 200 with the
// principal in headers, or 401, 403, 429 or 503 as application/problem+json. nginx turns a refusal with any other status than 401 and 403
// into 500, so its configuration has limited=403. ServeHTTP also answers POST /introspect. The path decides which credential a
// request needs. The query does not, because some proxies pass on the query of their client.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if !s.trusts(r) {
		refuse(w, r, principal.MisconfiguredError("the header "+secretHeader+" is not in ForwardAuthSecret"))
		return
	}
	switch path := r.URL.Path; {
	case path == keyPath || path == memberPath || strings.HasPrefix(path, keyPath+"/"):
		s.authorize(w, r)
	case path == introspectPath && r.Method == http.MethodPost:
		s.introspect(w, r)
	default:
		problem.Write(r.Context(), w, problem.New(problem.RouteNotFound, "This server has only the routes /authorize, /authorize-member and POST /introspect."))
	}
}

// trusts reports whether a request has one of the secrets, or needs none. It compares with all of them, in constant
// time, so that the time shows nothing about them.
func (s *server) trusts(r *http.Request) bool {
	given := sha256.Sum256([]byte(r.Header.Get(secretHeader)))
	equal := 0 // 1 when a secret is equal
	for _, secret := range s.secrets {
		equal |= subtle.ConstantTimeCompare(given[:], secret[:])
	}
	return equal == 1 || len(s.secrets) == 0
}

// authorize answers the paths of proxies.
func (s *server) authorize(w http.ResponseWriter, r *http.Request) {
	wanted, err := requirementsOf(r)
	var p guard.Principal
	if err == nil {
		p, err = s.check(r, r.Header.Values("Authorization"), wanted)
	}
	switch {
	case problem.Is(err, problem.RateLimited):
		s.limited.Add(r.Context(), metric.RequestsLimited, time.Now())
		slog.InfoContext(r.Context(), "limited", "code", string(problem.RateLimited), "requestId", problem.RequestID(r.Context()), "trace", problem.Trace(r.Context()), "caller", p.KeyID, "violated", p.Limit.Violated)
		w.Header().Set(codeHeader, string(problem.RateLimited))
		for name, value := range map[string]string{"RateLimit-Policy": p.Limit.Policy, "RateLimit": p.Limit.State} {
			w.Header().Set(name, value)
			w.Header().Set("X-Latchkey-"+name, value) // nginx reads this header, in each answer
		}
		if wanted.limitedIs403 {
			w = as403{w}
		}
		problem.Write(r.Context(), w, err)
		return
	case err != nil:
		refuse(w, r, err)
		return
	}
	setPrincipal(w.Header(), p)
	w.WriteHeader(http.StatusOK)
}

// requirements are the conditions for a request: an API key with scopes, or a role in an org.
type requirements struct {
	scopes []string
	orgID  string   // only with a role
	role   org.Role // "": the request needs an API key; otherwise an access token

	allows []guard.Need // only with a role: AllowSuspended or empty

	limitedIs403 bool // answer 403 for a key over its limits, because nginx turns 429 into 500
}

// as403 answers 403 instead of 429, with the same headers and body.
type as403 struct{ http.ResponseWriter }

func (w as403) WriteHeader(status int) {
	if status == http.StatusTooManyRequests {
		status = http.StatusForbidden
	}
	w.ResponseWriter.WriteHeader(status)
}

// check decides on a request's credential. It returns the errors of guard.Guard.
func (s *server) check(r *http.Request, authorization []string, wanted requirements) (guard.Principal, error) {
	if wanted.role != "" {
		return s.guard.Member(r.Context(), authorization, wanted.orgID, wanted.role, wanted.allows...)
	}
	return s.guard.Key(r.Context(), authorization, wanted.scopes...)
}

// requirementsOf reads the requirements from the query, which is in the proxy's configuration. But Envoy appends the path
// and the query of its client to /authorize. So the query of a path below /authorize/ is ignored: any valid API key passes.
// The query of /authorize/ itself may be of either (rootRequirements).
func requirementsOf(r *http.Request) (requirements, error) {
	if strings.HasPrefix(r.URL.Path, keyPath+"/") && r.URL.Path != keyPath+"/" {
		return requirements{}, nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	isUnreadable := err != nil || r.URL.Fragment != ""
	switch {
	case r.URL.Path == keyPath+"/":
		return rootRequirements(query, isUnreadable && strings.Contains(strings.ToLower(r.URL.RawQuery+r.URL.Fragment), "scope")), nil
	case isUnreadable:
		return requirements{}, principal.MisconfiguredError("the query cannot be read")
	case r.URL.Path == memberPath:
		return memberRequirements(query)
	}
	for name := range query {
		if name != "scope" && name != "limited" {
			return requirements{}, principal.MisconfiguredError("the query may have scope and limited only")
		}
	}
	isLimited403 := query.Has("limited")
	if isLimited403 && !slices.Equal(query["limited"], []string{"403"}) {
		return requirements{}, principal.MisconfiguredError("limited can be 403 only")
	}
	for _, s := range query["scope"] {
		if !apikey.ValidScope(s) {
			return requirements{}, principal.MisconfiguredError("no API key can have the scope that is asked for")
		}
	}
	return requirements{scopes: query["scope"], limitedIs403: isLimited403}, nil
}

// noScope is a scope that no API key can have.
const noScope = "latchkey.none"

// rootRequirements reads the query of /authorize/. A configuration may end with a slash, so the scopes are checked: with a scope that
// cannot be read or had, or in a parameter with a wrong name such as scopes, no key passes. But a client of Envoy may have written the query (GET /?page=2), so nothing in it is an error.
func rootRequirements(query url.Values, hidesScope bool) requirements {
	wanted := requirements{limitedIs403: slices.Equal(query["limited"], []string{"403"})}
	for _, s := range query["scope"] {
		if !apikey.ValidScope(s) {
			s = noScope
		}
		wanted.scopes = append(wanted.scopes, s)
	}
	for name := range query {
		hidesScope = hidesScope || name != "scope" && strings.Contains(strings.ToLower(name), "scope")
	}
	if hidesScope {
		wanted.scopes = append(wanted.scopes, noScope)
	}
	return wanted
}

// memberRequirements reads the query of /authorize-member: one org, at most one role (none means any role), and suspended=allow or
// no suspended.
func memberRequirements(query url.Values) (requirements, error) {
	wanted := requirements{orgID: query.Get("org"), role: org.Viewer}
	orgs, roles, suspended := len(query["org"]), len(query["role"]), query["suspended"]
	hasOthers := len(query) != orgs+roles+len(suspended)
	if orgs != 1 || roles > 1 || hasOthers {
		return requirements{}, principal.MisconfiguredError("ask for one org, and one role or none")
	}
	if roles == 1 {
		role, ok := org.ParseRole(query.Get("role"))
		if !ok {
			return requirements{}, principal.MisconfiguredError("role must be admin, member or viewer")
		}
		wanted.role = role
	}
	switch {
	case slices.Equal(suspended, []string{"allow"}):
		wanted.allows = []guard.Need{guard.AllowSuspended()}
	case suspended != nil:
		return requirements{}, principal.MisconfiguredError("suspended can be allow only")
	}
	return wanted, nil
}

// refuse answers 401 or 403 for a refusal, and 503 for any other error.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	refused, ok := guard.Refused(err)
	if !ok {
		logUnknown(r, err)
		w.Header().Set(codeHeader, string(problem.Unavailable))
		problem.Write(r.Context(), w, guard.Unknown())
		return
	}
	logRefusal(r, refused)
	w.Header().Set(codeHeader, string(refused.Code))
	if refused.Code.Status() == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", principal.Challenge(r.Header.Values("Authorization")))
	}
	problem.Write(r.Context(), w, refused)
}

// logRefusal writes the log line of a refusal. clientIp is the address of the proxy's client, as the proxy sends it. In
// a deployment without a secret, any caller can choose it. caller is the key whose secret has matched, or empty.
func logRefusal(r *http.Request, refused *problem.Error) {
	client := ""
	if ip, err := netip.ParseAddr(r.Header.Get(clientIPHeader)); err == nil {
		client = ip.WithZone("").String() // the zone may be any text
	}
	attrs := []any{
		"code", string(refused.Code), "requestId", problem.RequestID(r.Context()), "trace", problem.Trace(r.Context()), "sourceIp", r.RemoteAddr, "clientIp", client, "caller", refused.KeyID,
	}
	if refused.Cause != nil {
		attrs = append(attrs, "cause", refused.Cause.Error())
	}
	slog.InfoContext(r.Context(), "refused", append(attrs, metric.CredentialsRefused.With(1)...)...)
}

// logUnknown writes the log line of a check without a decision. Anyone can send a query that is misconfigured, so no alarm counts it.
func logUnknown(r *http.Request, err error) {
	attrs := []any{"error", err, "requestId", problem.RequestID(r.Context()), "trace", problem.Trace(r.Context())}
	var misconfigured principal.MisconfiguredError
	if code := limit.LogCode(err); code != "" {
		attrs = append(append(attrs, metric.LeasesFailed.With(1)...), "code", code)
	} else if !errors.Is(err, problem.ErrAtWill) && !errors.As(err, &misconfigured) {
		attrs = append(attrs, metric.ChecksFailed.With(1)...)
	}
	slog.ErrorContext(r.Context(), "authorizer cannot tell", attrs...)
}

// setPrincipal sets every header, even without a value. If a header was missing in the answer, a proxy that copies it
// would pass on the header of its client.
func setPrincipal(h http.Header, p guard.Principal) {
	values := p.Fields()
	// Metadata may have any character. For a user it is "", and so is its base64url.
	values["metadata"] = base64.RawURLEncoding.EncodeToString([]byte(values["metadata"]))
	for _, name := range headers {
		h.Set(name.header, escaped(values[name.field]))
	}
	h.Set(codeHeader, "")
}

// escaped returns a text for a header: it percent-encodes the percent sign, and each byte of the UTF-8 text that is neither
// visible ASCII nor a space.
func escaped(text string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		isVisible := ' ' <= c && c <= '~'
		if isVisible && c != '%' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}
