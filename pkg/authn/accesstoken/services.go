package accesstoken

import (
	"fmt"
	"time"

	"latchkey/pkg/authn/jwks"
	"latchkey/pkg/problem"
)

// account is who a token is, by its issuer.
type account struct{ issuer, subject string }

// named is a service with what its tokens must show.
type named struct {
	name  string
	rules *rules
}

// hasty is the Patience with an issuer of services: anyone can make a token that sends us there, and a slow issuer must not
// delay other callers.
var hasty = jwks.Patience{Timeout: time.Second, Pause: 10 * time.Second}

// addServices adds the services of the configuration, whose rules rulesOf makes. A token of the users' issuer must have
// all claims of a user's token, and must be a service's (isService). Tokens of other issuers have no marks of an access
// token, so they need none, nor a scope or a client of the users' issuer: the subject identifies the service.
func (v *Verifier) addServices(rulesOf func(Config, *jwks.Source) *rules) {
	if len(v.cfg.Services) == 0 {
		return
	}
	v.services = map[account]named{}
	byIssuer := map[string]*rules{}
	for _, s := range v.cfg.Services {
		of := byIssuer[s.Issuer]
		if of == nil {
			of = rulesOf(v.serviceConfig(s.Issuer), v.serviceKeys(s.Issuer))
			of.noPerson = s.Issuer == v.cfg.Issuer
			of.noUser = !of.noPerson
			byIssuer[s.Issuer] = of
		}
		v.services[account{s.Issuer, s.Subject}] = named{s.Name, of}
	}
}

// serviceConfig returns what the tokens of an issuer of services must show.
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
	return jwks.New("", jwks.NewDiscovery(issuer, v.client, hasty, v.now), v.client, hasty, v.now)
}

// rulesFor returns what a token must show, by the issuer and subject that it names, and the name of the service whose it
// then is; "" for a user's. A token that names a service never counts as a user's.
func (v *Verifier) rulesFor(payload map[string]any) (*rules, string) {
	iss, _ := payload["iss"].(string)
	sub, _ := payload["sub"].(string)
	if s, ok := v.services[account{iss, sub}]; ok {
		return s.rules, s.name
	}
	return v.users, ""
}

// fault returns the error of an issuer that cannot be called.
func (r *rules) fault(cause error) error {
	if r.noUser {
		cause = fmt.Errorf("%w: %w", problem.ErrServiceIssuer, cause)
	}
	return unavailable(cause)
}
