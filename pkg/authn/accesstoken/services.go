package accesstoken

import (
	"fmt"
	"time"

	"latchkey/pkg/authn/jwks"
	"latchkey/pkg/problem"
)

// account names the user or service of a token.
type account struct{ issuer, subject string }

// ruledService is a service and the rules for its tokens.
type ruledService struct {
	name  string
	rules *rules
}

// shortPatience is the Patience with an issuer of services: anyone can make a token that causes a call to this issuer, and a
// slow issuer must not delay other callers.
var shortPatience = jwks.Patience{Timeout: time.Second, Pause: 10 * time.Second}

// addServices adds the services of the configuration. rulesOf makes their rules. A token of the users' issuer must have all claims of a
// user's token, and must be a service's (isService). Other issuers do not mark access tokens, and do not know the scope and the clients of
// the users' issuer. So their tokens need none of these: the subject identifies the service.
func (v *Verifier) addServices(rulesOf func(Config, *jwks.Source) *rules) {
	if len(v.cfg.Services) == 0 {
		return
	}
	v.services = map[account]ruledService{}
	byIssuer := map[string]*rules{}
	for _, s := range v.cfg.Services {
		of := byIssuer[s.Issuer]
		if of == nil {
			of = rulesOf(v.serviceConfig(s.Issuer), v.serviceKeys(s.Issuer))
			of.mustBeService = s.Issuer == v.cfg.Issuer
			of.onlyServices = !of.mustBeService
			byIssuer[s.Issuer] = of
		}
		v.services[account{s.Issuer, s.Subject}] = ruledService{s.Name, of}
	}
}

// serviceConfig returns the settings for the tokens of an issuer of services.
func (v *Verifier) serviceConfig(issuer string) Config {
	own := v.cfg
	own.Audience = orDefault(own.ServiceAudience, own.Audience)
	if issuer == own.Issuer {
		return own
	}
	other := Config{Issuer: issuer, Audience: own.Audience, AllowUnmarkedTokens: true, EmailClaim: own.EmailClaim, EmailVerifiedClaim: own.EmailVerifiedClaim}
	if other.Audience == "" {
		other.ClientIDs = own.ClientIDs
	}
	return other
}

// serviceKeys returns the keys of an issuer of services.
func (v *Verifier) serviceKeys(issuer string) *jwks.Source {
	if issuer == v.cfg.Issuer {
		return v.users.keys
	}
	return jwks.New("", jwks.NewDiscovery(issuer, v.client, shortPatience, v.now), v.client, shortPatience, v.now)
}

// rulesFor returns the rules for a token, by its issuer and subject, and the name of its service; "" for a user's
// token. A token that names a service never counts as a user's.
func (v *Verifier) rulesFor(payload map[string]any) (*rules, string) {
	iss, _ := payload["iss"].(string)
	sub, _ := payload["sub"].(string)
	if s, ok := v.services[account{iss, sub}]; ok {
		return s.rules, s.name
	}
	return v.users, ""
}

// fault returns the error for an issuer that cannot be called.
func (r *rules) fault(cause error) error {
	if r.onlyServices {
		cause = fmt.Errorf("%w: %w", problem.ErrServiceIssuer, cause)
	}
	return unavailable(cause)
}
