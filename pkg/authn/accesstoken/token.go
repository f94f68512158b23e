// Package accesstoken verifies OAuth access tokens (JWTs by RFC 9068, and the variants of the common
// issuers), and reads the issuer's userinfo endpoint.
//
// Every error is a *problem.Error: token_invalid or token_expired for a bad token, unavailable when the issuer cannot
// be called, because then it is not known whether the token is good. Details are constants, because the gateway's templates
// do not escape them. Neither a detail nor a cause contains a token or a part of a token.
//
// This package must not be used for webhook tokens: it refuses them.
package accesstoken

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/authn/jwks"
	"latchkey/pkg/problem"
	"latchkey/pkg/service"
)

// Config is a deployment's settings for its issuer.
type Config struct {
	Issuer      string // the exact iss of the issuer's tokens; "": no token is accepted
	JWKSURL     string // "": the jwks_uri of the issuer's discovery document
	UserinfoURL string // "": the userinfo_endpoint of the same document
	// Audience is the aud that a token must have. When it is "" (Cognito's access
	// tokens have no aud) a token must have token_use=access and one of ClientIDs.
	Audience string
	// ClientIDs are the clients whose tokens are accepted. A token names its client by at least one of client_id, azp,
	// cid and appid, and each of these claims that it has must be in the list. Without ClientIDs, a deployment with an
	// Audience accepts any client.
	ClientIDs []string
	// RequiredScope is a scope that a token must have in scope or scp; "": no scope is required.
	RequiredScope string
	// The names of the claims to read, all at the top level. Defaults: email, email_verified, name.
	EmailClaim, EmailVerifiedClaim, NameClaim string
	// EmailsAreVerified means that the issuer has verified the email of each token without EmailVerifiedClaim. If a token has
	// the claim, the claim decides: true and "true" mean verified, any other value means not verified.
	EmailsAreVerified bool
	// AllowUnmarkedTokens accepts tokens of an issuer whose access tokens have no mark
	// that distinguishes them from its ID tokens (Supabase, Clerk).
	AllowUnmarkedTokens bool
	// Services are servers of the owner that may call the API; none by default. Their tokens must have
	// ServiceAudience; "": Audience.
	Services        []service.Service
	ServiceAudience string
}

// Settings are the variables of a function's environment (boot.Reader).
type Settings interface {
	Required(name string) string
	Optional(name, fallback string) string
	List(name string) []string
	Bool(name string, fallback bool) bool
	Reject(name, why string)
}

// ConfigFrom reads the variables that template.yaml gives to each function that accepts access tokens. It
// leaves out UserinfoURL and NameClaim, which only the function that records users needs.
func ConfigFrom(e Settings) Config {
	return Config{
		Issuer:              e.Required("ISSUER"),
		JWKSURL:             e.Optional("JWKS_URL", ""),
		Audience:            e.Optional("AUDIENCE", ""),
		ClientIDs:           e.List("CLIENT_IDS"),
		RequiredScope:       e.Optional("REQUIRED_SCOPE", ""),
		EmailClaim:          e.Optional("EMAIL_CLAIM", ""),
		EmailVerifiedClaim:  e.Optional("EMAIL_VERIFIED_CLAIM", ""),
		EmailsAreVerified:   e.Bool("EMAILS_ARE_VERIFIED", false),
		AllowUnmarkedTokens: e.Bool("ALLOW_UNMARKED_TOKENS", false),
		Services:            service.From(e),
		ServiceAudience:     e.Optional("SERVICE_AUDIENCE", ""),
	}
}

// ForUsers returns the settings of a program that accepts users but no services. It keeps the services of the users' issuer,
// because Verify must distinguish their tokens from users' tokens. It drops the others, so that their issuers are never called.
func (c Config) ForUsers() Config {
	c.Services = slices.DeleteFunc(slices.Clone(c.Services), func(s service.Service) bool { return s.Issuer != c.Issuer })
	return c
}

// Claims are the claims of a verified access token that the callers of Verify use.
type Claims struct {
	Service         string // the name of the service of the token; "": a user's token
	Issuer, Subject string
	Email           string    // a text, or the text in a list of one; "" when the token has no such email
	OddEmail        bool      // the token has an email of another type
	EmailVerified   bool      // false without an email
	Name            string    // "" when the token has none
	IssuedAt        time.Time // zero when the token has no iat; whole seconds
	SignedInAt      int64     // auth_time (RFC 9068, 2.2.1): seconds since the epoch; 0 when the token has none
}

// leeway is the largest difference between the issuer's clock and ours.
const leeway = 30 * time.Second

// iatLeeway is the leeway for iat. It is longer, because an early iat is harmless: exp and nbf decide when a token is good.
const iatLeeway = 60 * time.Second

// The details that the caller sees.
const (
	detailInvalid     = "The access token is not valid."
	detailKind        = "This token is not an access token."
	detailUnmarked    = "The token does not show that it is an access token: its typ is not at+jwt, and it has no claim scope, scp, client_id, cid, appid or token_use. The deployment's parameter AllowUnmarkedTokens allows such tokens."
	detailAlgorithm   = "The access token must be signed with ES256, RS256 or PS256."
	detailSubject     = "The sub claim of the access token must be a text of 1 to 255 bytes without control characters."
	detailAudience    = "The access token was not issued for this API."
	detailScope       = "The access token lacks the scope that this API requires."
	detailExpired     = "The access token has expired."
	detailPerson      = "The access token has the sub of a service, but it shows a person or has no mark of a service."
	detailUnavailable = "The issuer of the access tokens cannot be reached right now. Try again."
)

// Verifier verifies the tokens of the users' issuer and of services. It is safe for concurrent use. Make it with New.
type Verifier struct {
	cfg          Config
	client       *http.Client
	now          func() time.Time
	discovery    *jwks.Discovery
	users        *rules
	services     map[account]ruledService
	answerParser *jwt.Parser // for userinfo's signed answers
	known        *memory[verified]
	answers      *memory[answered]
}

// rules are the rules for the tokens of one issuer, and the keys of this issuer.
type rules struct {
	cfg           Config
	keys          *jwks.Source
	parser        *jwt.Parser
	mustBeService bool // a token must be a service's (isService)
	onlyServices  bool // the issuer has only services, no users
}

// verified is the remembered result for a good token.
type verified struct {
	claims Claims
	by     *rules
	keys   jwks.Snapshot // the keys that verified the token
}

// knownFor is how long a verified token is not verified again, at most.
const knownFor = time.Minute

// New returns a verifier. It makes no call to the issuer. client must not be nil. The verifier follows no
// redirect, whatever the client's policy is.
func New(cfg Config, client *http.Client, now func() time.Time) *Verifier {
	cfg.EmailClaim = orDefault(cfg.EmailClaim, "email")
	cfg.EmailVerifiedClaim = orDefault(cfg.EmailVerifiedClaim, "email_verified")
	cfg.NameClaim = orDefault(cfg.NameClaim, "name")
	common := []jwt.ParserOption{
		jwt.WithValidMethods([]string{jwks.ES256, jwks.RS256, jwks.PS256}),
		jwt.WithStrictDecoding(), jwt.WithJSONNumber(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(now),
	}
	rulesOf := func(cfg Config, keys *jwks.Source) *rules {
		// The parser repeats many checks of checkClaims, so that a mistake in one of the two lets no bad token pass.
		forTokens := append(slices.Clone(common), jwt.WithIssuer(cfg.Issuer), jwt.WithExpirationRequired())
		if cfg.Audience != "" {
			forTokens = append(forTokens, jwt.WithAudience(cfg.Audience))
		}
		return &rules{cfg: cfg, keys: keys, parser: jwt.NewParser(forTokens...)}
	}
	discovery := jwks.NewDiscovery(cfg.Issuer, client, jwks.Patient, now)
	v := &Verifier{
		cfg: cfg, client: client, now: now, discovery: discovery,
		users:        rulesOf(cfg, jwks.New(cfg.JWKSURL, discovery, client, jwks.Patient, now)),
		answerParser: jwt.NewParser(common...),
		known:        newMemory[verified](now),
		answers:      newMemory[answered](now),
	}
	v.addServices(rulesOf)
	return v
}

func orDefault(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// Verify decides on an access token. The checks that need no key come first, so that only a token that could be good
// causes a call to the issuer. The error token_expired means that the signature is valid.
//
// Verify remembers a good token by its hash for a minute, but not beyond its exp. It verifies the token again as soon
// as the issuer's keys have changed.
//
// Errors: token_invalid, token_expired, unavailable.
func (v *Verifier) Verify(ctx context.Context, raw string) (Claims, error) {
	if remembered, ok := v.known.get(raw); ok {
		keys, err := remembered.by.keys.Keys(ctx)
		if err != nil {
			return Claims{}, remembered.by.fault(err)
		}
		if keys.Same(remembered.keys) {
			return remembered.claims, nil
		}
	}
	t, err := open(raw, maxToken, object)
	if err != nil {
		return Claims{}, err
	}
	h, err := checkHeader(t.header)
	if err != nil {
		return Claims{}, err
	}
	by, serviceName := v.rulesFor(t.payload)
	if err := by.checkClaims(t.payload, h.hasAccessTyp); err != nil {
		return Claims{}, err
	}
	payload, keys, err := by.verify(ctx, by.parser, raw, h, t.payload)
	var noDecision *problem.Error // unavailable; all other errors of verify come from the parser
	switch {
	case err == nil:
		claims := v.claims(payload)
		if claims.IssuedAt.After(v.now().Add(iatLeeway)) {
			return Claims{}, invalid(errAhead)
		}
		claims.Service = serviceName
		v.remember(raw, payload, verified{claims, by, keys})
		return claims, nil
	case errors.As(err, &noDecision):
		return Claims{}, err
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return Claims{}, problem.Wrap(problem.TokenInvalid, detailInvalid, errSignature)
	case errors.Is(err, jwt.ErrTokenExpired):
		return Claims{}, problem.New(problem.TokenExpired, detailExpired)
	default:
		return Claims{}, problem.Wrap(problem.TokenInvalid, detailInvalid, err)
	}
}

// remember adds a good token to the known ones.
func (v *Verifier) remember(raw string, payload jwt.MapClaims, good verified) {
	until := v.now().Add(knownFor)
	if exp, ok := seconds(payload["exp"]); ok && time.Unix(exp, 0).Before(until) {
		until = time.Unix(exp, 0)
	}
	v.known.add(raw, good, until)
}

// verify verifies a signature with the issuer's keys, and the claims that the parser checks. When none of the kept keys made
// the signature, verify fetches newer keys. It returns the claims, and the keys that it used. payload is not
// verified yet. Errors: unavailable, and the parser's errors; jwt.ErrTokenSignatureInvalid means that no key made the
// signature.
func (r *rules) verify(ctx context.Context, parser *jwt.Parser, raw string, h header, payload map[string]any) (jwt.MapClaims, jwks.Snapshot, error) {
	seen, err := r.keys.Keys(ctx)
	if err != nil {
		return nil, seen, r.fault(err)
	}
	claims, err := parseSigned(parser, raw, h, seen)
	if !errors.Is(err, jwt.ErrTokenSignatureInvalid) {
		return claims, seen, err
	}
	// The kid is unknown, or its key did not make the signature. The issuer may have new keys by now.
	next, changed, errNewer := r.keys.Newer(ctx, seen)
	switch {
	case errNewer != nil:
		return nil, next, r.fault(errNewer)
	case changed:
		claims, err = parseSigned(parser, raw, h, next)
		return claims, next, err
	case !next.Asked() && couldBeNewer(h, payload, next):
		// The issuer was called too recently to be called again. A good token must not be refused because of this.
		return nil, next, unavailable(errPaused)
	}
	return nil, next, err
}

var (
	errSignature = errors.New("token: no key of the issuer made the signature")
	// errPaused wraps ErrAtWill because anyone can cause it, with a made-up kid.
	errPaused = fmt.Errorf("token: its key may be newer than the issuer's keys that are known: %w", problem.ErrAtWill)
)

// couldBeNewer reports whether a key that the issuer has published since the last call may have signed a token: the kid is
// unknown, and the token was made after that call or has no iat. The clocks may differ by leeway.
func couldBeNewer(h header, payload map[string]any, known jwks.Snapshot) bool {
	if known.Knows(h.kid) {
		return false
	}
	iat, ok := seconds(payload["iat"])
	return !ok || time.Unix(iat, 0).After(known.At().Add(-leeway))
}

// parseSigned verifies the signature with the keys that fit the header, and the claims that the parser checks.
// jwt.ErrTokenSignatureInvalid means that no key fits, or that no key made the signature.
func parseSigned(parser *jwt.Parser, raw string, h header, from jwks.Snapshot) (jwt.MapClaims, error) {
	found := from.Find(h.kid, h.alg)
	if len(found) == 0 {
		return nil, jwt.ErrTokenSignatureInvalid
	}
	set := jwt.VerificationKeySet{}
	for _, k := range found {
		set.Keys = append(set.Keys, k)
	}
	// The claims are a map, because a struct ignores the case of names: a signed "SUB" would count as sub.
	claims := jwt.MapClaims{}
	_, err := parser.ParseWithClaims(raw, claims, func(*jwt.Token) (any, error) { return set, nil })
	return claims, err
}

// claims converts the payload of a verified token.
func (v *Verifier) claims(c jwt.MapClaims) Claims {
	p := v.profile(c)
	out := Claims{Email: p.Email, OddEmail: p.OddEmail, EmailVerified: p.EmailVerified, Name: p.Name}
	out.Issuer, _ = c["iss"].(string)
	out.Subject, _ = c["sub"].(string)
	if iat, ok := seconds(c["iat"]); ok {
		out.IssuedAt = time.Unix(iat, 0)
	}
	out.SignedInAt, _ = seconds(c["auth_time"])
	return out
}

func unavailable(cause error) error {
	return problem.Wrap(problem.Unavailable, detailUnavailable, cause)
}
