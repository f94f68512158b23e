package accesstoken

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"latchkey/pkg/authn/jwks"
	"latchkey/pkg/principal"
)

// Service is a server, job or pipeline of the owner. Its tokens have this issuer and this subject, both to the letter.
type Service struct{ Name, Issuer, Subject string }

// The limits of the parameter Services.
const (
	maxServices     = 10
	maxServicesText = 2 << 10 // bytes
)

// ParseServices reads the parameter Services: NAME=ISSUER#SUBJECT with commas between, where a comma, a # and a % are
// written as %2C, %23 and %25. The empty text is no service.
func ParseServices(text string) ([]Service, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, ",")
	if len(text) > maxServicesText || len(parts) > maxServices {
		return nil, fmt.Errorf("more than %d services or %d bytes", maxServices, maxServicesText)
	}
	var all []Service
	names, accounts := map[string]bool{}, map[account]bool{}
	for _, part := range parts {
		s, err := parseService(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		if names[s.Name] || accounts[s.account()] {
			return nil, fmt.Errorf("%q: a name, or an issuer with a subject, stands twice", part)
		}
		names[s.Name], accounts[s.account()] = true, true
		all = append(all, s)
	}
	return all, nil
}

// Named returns a function that finds one of the services by its name.
func Named(services []Service) func(name string) (issuer, subject string, ok bool) {
	return func(name string) (issuer, subject string, ok bool) {
		for _, s := range services {
			if s.Name == name {
				return s.Issuer, s.Subject, true
			}
		}
		return "", "", false
	}
}

// loopback are the hosts whose issuers need no TLS. Elsewhere anyone on the way could replace the keys.
var loopback = []string{"localhost", "127.0.0.1"}

func parseService(text string) (Service, error) {
	name, rest, hasName := strings.Cut(text, "=")
	issuer, subject, hasSubject := strings.Cut(rest, "#")
	if !hasName || !hasSubject || strings.Contains(subject, "#") {
		return Service{}, errors.New("want NAME=ISSUER#SUBJECT")
	}
	if !principal.IsServiceName(name) {
		return Service{}, errors.New("a name has 1 to 32 lower-case letters, digits and hyphens, and begins with no hyphen")
	}
	s := Service{Name: name}
	var errIssuer, errSubject error
	s.Issuer, errIssuer = url.PathUnescape(issuer)
	s.Subject, errSubject = url.PathUnescape(subject)
	if err := errors.Join(errIssuer, errSubject); err != nil {
		return Service{}, err
	}
	of, err := url.Parse(s.Issuer)
	if err != nil || of.Host == "" || of.Scheme != "https" && (of.Scheme != "http" || !slices.Contains(loopback, of.Hostname())) {
		return Service{}, errors.New("the issuer is no https:// URL, nor an http:// one of this machine")
	}
	if !principal.IsSubject(s.Subject) {
		return Service{}, errors.New("the subject must have 1 to 255 bytes and no control characters")
	}
	return s, nil
}

// account is who a token is, by its issuer.
type account struct{ issuer, subject string }

func (s Service) account() account { return account{s.Issuer, s.Subject} }

// service is a Service with what its tokens must show.
type service struct {
	name  string
	rules *rules
}

// hasty is the Patience with an issuer of services: anyone can make a token that sends us there, and a slow one must hold
// up nobody else.
var hasty = jwks.Patience{Timeout: time.Second, Pause: 10 * time.Second}

// addServices adds the services of the configuration, whose rules rulesOf makes. A token of the users' issuer must show
// all that a user's does, and no person. Tokens of other issuers have no marks of an access token, so that they need none,
// nor a scope or a client of the users' issuer: the subject says who it is.
func (v *Verifier) addServices(rulesOf func(Config, *jwks.Source) *rules) {
	if len(v.cfg.Services) == 0 {
		return
	}
	v.services = map[account]service{}
	byIssuer := map[string]*rules{}
	for _, s := range v.cfg.Services {
		of := byIssuer[s.Issuer]
		if of == nil {
			of = rulesOf(v.serviceConfig(s.Issuer), v.serviceKeys(s.Issuer))
			of.noPerson = s.Issuer == v.cfg.Issuer
			byIssuer[s.Issuer] = of
		}
		v.services[s.account()] = service{s.Name, of}
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
