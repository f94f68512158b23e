package accesstoken

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"latchkey/pkg/authn/jwks"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

const (
	maxKid = 256 // bytes; much longer than the kids of issuers
	// maxSeconds is a time in the year 5138. A later time is probably in milliseconds.
	maxSeconds = 100_000_000_000
)

// The rules that a token can break. The log shows these errors.
var (
	errRecased   = errors.New("token: a registered member in another case")
	errCritical  = errors.New("token: has crit")
	errAlgorithm = errors.New("token: its algorithm is not one of ours")
	errKid       = errors.New("token: no usable kid")
	errType      = errors.New("token: its typ is not an access token's")
	errIDToken   = errors.New("token: it is an ID token, or another that is no access token")
	errUnmarked  = errors.New("token: nothing says that it is an access token")
	errIssuer    = errors.New("token: another issuer, or none")
	errAudience  = errors.New("token: not for our audience or clients")
	errScope     = errors.New("token: lacks the required scope")
	errSubject   = errors.New("token: no usable sub")
	errAhead     = errors.New("token: its iat is further ahead than a clock may be")
	errTime      = errors.New("token: exp missing, or a time that is not one")
	errPerson    = errors.New("token: its sub is a service's, and it does not show to be a service's")
)

// header has the used members of a token's header. jwk, jku, x5u and x5c are not used, because
// keys come only from the issuer.
type header struct {
	kid, alg     string
	hasAccessTyp bool // typ is at+jwt, which only access tokens have (RFC 9068)
}

// The members that decide something, here or in another program that reads the token. A member with one of these names
// in another letter case is refused, because some JSON readers ignore the case.
var (
	headerMembers  = []string{"alg", "kid", "typ", "cty", "crit", "jwk", "jku", "x5c", "x5u", "b64", "zip", "enc"}
	payloadMembers = []string{
		"iss", "sub", "aud", "exp", "nbf", "iat", "jti",
		"token_use", "client_id", "azp", "typ", "at_hash", "c_hash", "s_hash", "nonce", "events", "scope", "scp", "cid", "appid", "auth_time",
	}
)

// checkRecased refuses an object with a member whose name is a registered name in another letter case.
// strings.EqualFold ignores case as encoding/json does: "ſub" equals "sub".
func checkRecased(o map[string]any, registered ...string) error {
	for name := range o {
		for _, r := range registered {
			isRecased := name != r && strings.EqualFold(name, r)
			if isRecased && !slices.Contains(registered, name) { // both names may be configured
				return invalid(errRecased)
			}
		}
	}
	return nil
}

// checkHeader checks a header and returns its used members.
func checkHeader(h map[string]any) (header, error) {
	var out header
	if err := checkRecased(h, headerMembers...); err != nil {
		return out, err
	}
	// No extension is supported, so none may be critical (RFC 7515, 4.1.11).
	if _, has := h["crit"]; has {
		return out, invalid(errCritical)
	}
	out.alg, _ = h["alg"].(string)
	if out.alg != jwks.ES256 && out.alg != jwks.RS256 && out.alg != jwks.PS256 {
		return out, problem.Wrap(problem.TokenInvalid, detailAlgorithm, errAlgorithm)
	}
	out.kid, _ = h["kid"].(string)
	if out.kid == "" || len(out.kid) > maxKid {
		return out, invalid(errKid)
	}
	var err error
	out.hasAccessTyp, err = checkTyp(h)
	return out, err
}

// checkTyp accepts the typ of an access token (RFC 9068), "jwt", and a header without typ. It refuses every other typ,
// for example webhook+jwt of our webhooks. hasAccessTyp is true for the typ of an access token.
func checkTyp(h map[string]any) (hasAccessTyp bool, err error) {
	typ, has := h["typ"]
	if !has {
		return false, nil
	}
	text, _ := typ.(string)
	switch strings.ToLower(text) {
	case "at+jwt", "application/at+jwt":
		return true, nil
	case "jwt":
		return false, nil
	default:
		return false, problem.Wrap(problem.TokenInvalid, detailKind, errType)
	}
}

// checkClaims makes all checks of a payload that need no key and no clock. hasAccessTyp: the header has the typ of an access token.
func (r *rules) checkClaims(p map[string]any, hasAccessTyp bool) error {
	// NameClaim is not checked, because a user's name decides nothing.
	names := append(slices.Clone(payloadMembers), r.cfg.EmailClaim, r.cfg.EmailVerifiedClaim)
	if err := checkRecased(p, names...); err != nil {
		return err
	}
	if err := r.checkKind(p, hasAccessTyp); err != nil {
		return err
	}
	if iss, _ := p["iss"].(string); iss == "" || iss != r.cfg.Issuer {
		return invalid(errIssuer)
	}
	if r.mustBeService && !r.isService(p) {
		return problem.Wrap(problem.TokenInvalid, detailPerson, errPerson)
	}
	if !r.isForUs(p) {
		return problem.Wrap(problem.TokenInvalid, detailAudience, errAudience)
	}
	if !r.hasScope(p) {
		return problem.Wrap(problem.TokenInvalid, detailScope, errScope)
	}
	if sub, _ := p["sub"].(string); !principal.IsSubject(sub) {
		return problem.Wrap(problem.TokenInvalid, detailSubject, errSubject)
	}
	for _, name := range []string{"exp", "nbf", "iat"} {
		at, has := p[name]
		mustBeTime := has || name == "exp" // nbf and iat are optional
		s, ok := seconds(at)
		if mustBeTime && (!ok || s == 0 && name == "exp") { // some issuers write 0 when there is no nbf
			return invalid(errTime)
		}
	}
	return nil
}

// checkKind refuses the other kinds of tokens that an issuer signs, by the marks of the common issuers: Cognito's
// token_use, Keycloak's typ in the payload, and claims that only ID tokens and logout tokens have. It also refuses a
// token without any mark of an access token, unless the deployment allows such tokens.
func (r *rules) checkKind(p map[string]any, hasAccessTyp bool) error {
	use, hasUse := p["token_use"]
	isOtherUse := hasUse && use != "access"
	typ, hasTyp := p["typ"]
	text, _ := typ.(string)
	text = strings.ToLower(text)
	isOtherTyp := hasTyp && !slices.Contains([]string{"bearer", "at+jwt", "jwt", "access", "access_token"}, text)
	hasOtherMark := hasAny(p, "at_hash", "c_hash", "events")
	// nonce and s_hash are marks of an ID token, but some issuers copy them into tokens with the typ of an access
	// token.
	saysAccess := hasAccessTyp || text == "bearer"
	isIDToken := !saysAccess && hasAny(p, "nonce", "s_hash")
	if isOtherUse || isOtherTyp || hasOtherMark || isIDToken {
		return problem.Wrap(problem.TokenInvalid, detailKind, errIDToken)
	}
	isUnmarked := !saysAccess && !hasAny(p, "scope", "scp", "client_id", "cid", "appid", "token_use")
	if isUnmarked && !r.cfg.AllowUnmarkedTokens {
		return problem.Wrap(problem.TokenInvalid, detailUnmarked, errUnmarked)
	}
	return nil
}

// hasAny reports whether an object has at least one of these members.
func hasAny(o map[string]any, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, has := o[name]; return has })
}

// isForUs reports whether the token is meant for this service, by its audience and its client (Config).
func (r *rules) isForUs(p map[string]any) bool {
	if r.cfg.Audience == "" {
		return p["token_use"] == "access" && r.isOurClient(p)
	}
	if len(r.cfg.ClientIDs) > 0 && !r.isOurClient(p) {
		return false
	}
	switch aud := p["aud"].(type) {
	case string:
		return aud == r.cfg.Audience
	case []any:
		isNoText := func(a any) bool { _, ok := a.(string); return !ok }
		return slices.Contains(aud, any(r.cfg.Audience)) && !slices.ContainsFunc(aud, isNoText)
	default:
		return false
	}
}

// clientClaims name the client that got a token.
var clientClaims = []string{"client_id", "azp", "cid", "appid"}

// isOurClient reports whether the token names at least one client, and all of its clients are in ClientIDs.
func (r *rules) isOurClient(p map[string]any) bool {
	namesClient := false
	for _, name := range clientClaims {
		client, has := p[name]
		if !has {
			continue
		}
		text, _ := client.(string)
		if text == "" || !slices.Contains(r.cfg.ClientIDs, text) {
			return false
		}
		namesClient = true
	}
	return namesClient
}

// hasScope reports whether the token has the required scope. scope is a text with spaces (RFC 9068). scp is such a text
// for Entra, and a list for Okta.
func (r *rules) hasScope(p map[string]any) bool {
	return r.cfg.RequiredScope == "" || hasScopeIn(p, r.cfg.RequiredScope)
}

// hasScopeIn reports whether scope or scp has a scope.
func hasScopeIn(p map[string]any, want string) bool {
	for _, name := range []string{"scope", "scp"} {
		switch scopes := p[name].(type) {
		case string:
			if slices.Contains(strings.Split(scopes, " "), want) {
				return true
			}
		case []any:
			if slices.Contains(scopes, any(want)) {
				return true
			}
		}
	}
	return false
}

// seconds reads a NumericDate (RFC 7519, section 2) in whole seconds. ok is false for any value that is not a
// number from 0 to maxSeconds. It cuts off a fraction.
func seconds(v any) (s int64, ok bool) {
	n, isNumber := v.(json.Number)
	if !isNumber {
		return 0, false
	}
	f, err := n.Float64()
	if err != nil || math.IsNaN(f) || f < 0 || f > maxSeconds {
		return 0, false
	}
	return int64(f), true
}
