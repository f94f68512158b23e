// Package accesstoken verifies OAuth access tokens (JWTs by RFC 9068, and the variants of the common
// issuers), and reads the issuer's userinfo endpoint.
//
// Every error is a *problem.Error: token_invalid or token_expired when the token is not good,
// unavailable when that is not known because the issuer cannot be called. Details are constants,
// because the gateway's templates do not escape them. Neither detail nor cause ever holds a
// token, or a part of one.
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
)

// Config is a deployment's settings for its issuer.
type Config struct {
	Issuer      string // the exact iss of the issuer's tokens; "": no token is accepted
	JWKSURL     string // "": the jwks_uri of the issuer's discovery document
	UserinfoURL string // "": the userinfo_endpoint of the same document
	// Audience is the aud that a token must have. When it is "" (Cognito's access
	// tokens have no aud) a token must have token_use=access and one of ClientIDs.
	Audience string
	// ClientIDs are the clients whose tokens are accepted: a token names its client by client_id,
	// azp, cid or appid, and no other by any of them. None: with an Audience, any client.
	ClientIDs []string
	// RequiredScope is a scope that a token must have in scope or scp; "": none.
	RequiredScope string
	// The claims to read, at the top level. Defaults: email, email_verified, name.
	EmailClaim, EmailVerifiedClaim, NameClaim string
	// EmailsAreVerified means that the issuer has verified every email. An
	// explicit email_verified: false still counts.
	EmailsAreVerified bool
	// AllowUnmarkedTokens accepts tokens of an issuer whose access tokens have no mark
	// that distinguishes them from its ID tokens (Supabase, Clerk).
	AllowUnmarkedTokens bool
	// Services are the callers that are servers of the owner, none by default. Their tokens must have
	// ServiceAudience; "": Audience.
	Services        []Service
	ServiceAudience string
}

// Settings are the variables of a function's environment (boot.Reader).
type Settings interface {
	Required(name string) string
	Optional(name, fallback string) string
	List(name string) []string
	Bool(name string, fallback bool) bool
}

// ConfigFrom reads the variables that template.yaml gives to each function that takes access tokens. It
// leaves out what only a sign-in needs: UserinfoURL and NameClaim.
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
	}
}

// Claims are the claims of a verified access token that are used.
type Claims struct {
	Service         string // the name of the service whose token it is; "": a user's
	Issuer, Subject string
	Email           string    // "" when the token has none
	EmailVerified   bool      // false without an email
	Name            string    // "" when the token has none
	IssuedAt        time.Time // zero when the token has no iat; whole seconds
	SignedInAt      int64     // auth_time (RFC 9068, 2.2.1): seconds since the epoch; 0 when the token has none
}

// leeway is the largest difference between the issuer's clock and ours.
const leeway = 30 * time.Second

// The details that the caller sees.
const (
	detailInvalid     = "The access token is not valid."
	detailKind        = "This token is not an access token."
	detailUnmarked    = "Nothing says that this token is an access token: it has no typ at+jwt and none of scope, scp, client_id, cid, appid, token_use. The deployment's parameter AllowUnmarkedTokens takes such tokens."
	detailAlgorithm   = "This service takes access tokens that are signed by ES256, RS256 or PS256, and by no other algorithm."
	detailSubject     = "The access token has no sub claim that can be used: a text of 1 to 255 bytes without control characters."
	detailAudience    = "The access token is not meant for this service."
	detailScope       = "The access token lacks the scope that this service requires."
	detailExpired     = "The access token has expired."
	detailPerson      = "The access token names a person, and its sub is that of a service."
	detailUnavailable = "The issuer of access tokens cannot be reached."
)

// Verifier verifies the tokens of the users' issuer and of the services. It is safe for concurrent use. Make it with New.
type Verifier struct {
	cfg       Config
	client    *http.Client
	now       func() time.Time
	discovery *jwks.Discovery
	users     *rules
	services  map[account]service
	answers   *jwt.Parser // of userinfo's signed answers
	known     *memory[known]
	refused   *memory[struct{}] // by userinfo
}

// rules are what a token must show, and whose keys must have signed it.
type rules struct {
	cfg      Config
	keys     *jwks.Source
	parser   *jwt.Parser
	noPerson bool // a token that shows a person is refused
}

// known is a verified token.
type known struct {
	claims Claims
	by     *rules
	keys   jwks.Snapshot // by which it was verified
}

// knownFor bounds how long a verified token is not verified again.
const knownFor = time.Minute

// New returns a verifier. It makes no call to the issuer. client must not be nil. The client's
// redirect policy is not used: no redirect is followed.
func New(cfg Config, client *http.Client, now func() time.Time) *Verifier {
	cfg.EmailClaim = orDefault(cfg.EmailClaim, "email")
	cfg.EmailVerifiedClaim = orDefault(cfg.EmailVerifiedClaim, "email_verified")
	cfg.NameClaim = orDefault(cfg.NameClaim, "name")
	form := []jwt.ParserOption{
		jwt.WithValidMethods([]string{jwks.ES256, jwks.RS256, jwks.PS256}),
		jwt.WithStrictDecoding(), jwt.WithJSONNumber(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(now),
	}
	rulesOf := func(cfg Config, keys *jwks.Source) *rules {
		// The parser repeats many checks of checkClaims, so that one mistake in
		// either accepts no bad token.
		options := append(slices.Clone(form), jwt.WithIssuer(cfg.Issuer), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
		if cfg.Audience != "" {
			options = append(options, jwt.WithAudience(cfg.Audience))
		}
		return &rules{cfg: cfg, keys: keys, parser: jwt.NewParser(options...)}
	}
	discovery := jwks.NewDiscovery(cfg.Issuer, client, jwks.Patient, now)
	v := &Verifier{
		cfg: cfg, client: client, now: now, discovery: discovery,
		users:   rulesOf(cfg, jwks.New(cfg.JWKSURL, discovery, client, jwks.Patient, now)),
		answers: jwt.NewParser(form...),
		known:   newMemory[known](now),
		refused: newMemory[struct{}](now),
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

// Verify decides on an access token. Checks without a key come first, so that only a token that
// could be good causes a call to the issuer. The caller learns that a token has expired only
// when its signature is good.
//
// A good token is remembered by its hash for a minute, not beyond its exp, and only as long as the
// issuer's keys are those by which it was verified.
//
// Errors: token_invalid, token_expired, unavailable.
func (v *Verifier) Verify(ctx context.Context, raw string) (Claims, error) {
	if before, ok := v.known.get(raw); ok {
		keys, err := before.by.keys.Keys(ctx)
		if err != nil {
			return Claims{}, unavailable(err)
		}
		if keys.Same(before.keys) {
			return before.claims, nil
		}
	}
	t, err := open(raw, maxToken)
	if err != nil {
		return Claims{}, err
	}
	h, err := checkHeader(t.header)
	if err != nil {
		return Claims{}, err
	}
	by, name := v.rulesFor(t.payload)
	if err := by.checkClaims(t.payload, h.accessType); err != nil {
		return Claims{}, err
	}
	proved, keys, err := verified(ctx, by.keys, by.parser, raw, h, t.payload)
	var gone *problem.Error
	switch {
	case err == nil:
		claims := v.claims(proved)
		claims.Service = name
		v.remember(raw, known{claims, by, keys}, proved)
		return claims, nil
	case errors.As(err, &gone):
		return Claims{}, err
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return Claims{}, problem.Wrap(problem.TokenInvalid, detailInvalid, errSignature)
	case errors.Is(err, jwt.ErrTokenExpired):
		return Claims{}, problem.New(problem.TokenExpired, detailExpired)
	default:
		return Claims{}, problem.Wrap(problem.TokenInvalid, detailInvalid, err)
	}
}

// remember makes Verify know a good token from now on.
func (v *Verifier) remember(raw string, good known, of jwt.MapClaims) {
	until := v.now().Add(knownFor)
	if exp, ok := seconds(of["exp"]); ok && time.Unix(exp, 0).Before(until) {
		until = time.Unix(exp, 0)
	}
	v.known.add(raw, good, until)
}

// verified verifies a signature, and the claims that the parser checks, by the keys of an
// issuer, which it returns too. When no known key made the signature, it fetches newer ones. Errors:
// unavailable, and those of the parser; jwt.ErrTokenSignatureInvalid means that no key made the
// signature.
func verified(ctx context.Context, keys *jwks.Source, parser *jwt.Parser, raw string, h header, payload map[string]any) (jwt.MapClaims, jwks.Snapshot, error) {
	seen, err := keys.Keys(ctx)
	if err != nil {
		return nil, seen, unavailable(err)
	}
	claims, err := signed(parser, raw, h, seen)
	if !errors.Is(err, jwt.ErrTokenSignatureInvalid) {
		return claims, seen, err
	}
	// The key id is unknown, or its key did not make the signature. Perhaps the
	// issuer has other keys by now.
	next, changed, askErr := keys.Newer(ctx, seen)
	switch {
	case askErr != nil:
		return nil, next, unavailable(askErr)
	case changed:
		claims, err = signed(parser, raw, h, next)
		return claims, next, err
	case !next.Asked() && couldBeNewer(h, payload, next):
		return nil, next, unavailable(errPaused)
	}
	return nil, next, err
}

var (
	errSignature = errors.New("token: no key of the issuer made the signature")
	errPaused    = fmt.Errorf("token: its key may be newer than the issuer's keys that are known: %w", problem.ErrAtWill)
)

// couldBeNewer reports whether a token of an unknown key may be good: it was made after the
// issuer was called last for its keys, or has no iat. The issuer is called only once in a while,
// and a good token must not be refused for that.
func couldBeNewer(h header, payload map[string]any, known jwks.Snapshot) bool {
	if known.Knows(h.kid) {
		return false
	}
	iat, ok := seconds(payload["iat"])
	return !ok || time.Unix(iat, 0).After(known.At().Add(-leeway))
}

// signed verifies the signature and the times by the keys that fit the header.
// jwt.ErrTokenSignatureInvalid means that there is no such key, or that none of them made the
// signature.
func signed(parser *jwt.Parser, raw string, h header, from jwks.Snapshot) (jwt.MapClaims, error) {
	found := from.Find(h.kid, h.alg)
	if len(found) == 0 {
		return nil, jwt.ErrTokenSignatureInvalid
	}
	set := jwt.VerificationKeySet{}
	for _, k := range found {
		set.Keys = append(set.Keys, k)
	}
	// A map, because the fields of a struct match names in any case: a signed
	// "SUB" would count as sub.
	claims := jwt.MapClaims{}
	_, err := parser.ParseWithClaims(raw, claims, func(*jwt.Token) (any, error) { return set, nil })
	return claims, err
}

// claims returns the claims of a verified token that are used.
func (v *Verifier) claims(c jwt.MapClaims) Claims {
	p := v.profile(c)
	out := Claims{Email: p.Email, EmailVerified: p.EmailVerified, Name: p.Name}
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
