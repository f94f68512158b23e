// Package service has the servers, jobs and pipelines of the owner that call the API without a person. It reads the parameter
// Services. It is not a part of package accesstoken, so that functions which verify no token are smaller.
package service

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"latchkey/pkg/fetch"
	"latchkey/pkg/principal"
)

// Service is a server, job or pipeline of the owner. Its access tokens have exactly this issuer and this subject.
type Service struct{ Name, Issuer, Subject string }

// The limits of the parameter Services.
const (
	maxServices = 10      // services
	maxText     = 2 << 10 // bytes
)

// Parse reads the parameter Services: items of the form NAME=ISSUER#SUBJECT, separated by commas. A comma, a # and a % in an
// item are written as %2C, %23 and %25. An empty text has no services.
func Parse(text string) ([]Service, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, ",")
	if len(text) > maxText || len(parts) > maxServices {
		return nil, fmt.Errorf("more than %d services or %d bytes", maxServices, maxText)
	}
	var all []Service
	names, accounts := map[string]bool{}, map[[2]string]bool{}
	for _, part := range parts {
		s, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		account := [2]string{s.Issuer, s.Subject}
		if names[s.Name] || accounts[account] {
			return nil, fmt.Errorf("%q: its name, or its issuer and subject, is already in the list", part)
		}
		names[s.Name], accounts[account] = true, true
		all = append(all, s)
	}
	return all, nil
}

// Settings are the variables of a function's environment (boot.Reader).
type Settings interface {
	Optional(name, fallback string) string
	Reject(name, why string)
}

// From reads the variable SERVICES.
func From(e Settings) []Service {
	all, err := Parse(e.Optional("SERVICES", ""))
	if err != nil {
		e.Reject("SERVICES", err.Error())
	}
	return all
}

// Names returns the names of services.
func Names(services []Service) (names []string) {
	for _, s := range services {
		names = append(names, s.Name)
	}
	return names
}

// Subjects returns the subjects of the services with an issuer. No user of the issuer may have one of these subjects.
func Subjects(services []Service, issuer string) (subjects []string) {
	for _, s := range services {
		if s.Issuer == issuer {
			subjects = append(subjects, s.Subject)
		}
	}
	return subjects
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

func parse(text string) (Service, error) {
	name, rest, hasName := strings.Cut(text, "=")
	issuer, subject, hasSubject := strings.Cut(rest, "#")
	if !hasName || !hasSubject || strings.Contains(subject, "#") {
		return Service{}, errors.New("want NAME=ISSUER#SUBJECT")
	}
	if !principal.IsServiceName(name) {
		return Service{}, errors.New("a name has 1 to 32 lower-case letters, digits and hyphens, and does not begin with a hyphen")
	}
	s := Service{Name: name}
	var errIssuer, errSubject error
	s.Issuer, errIssuer = url.PathUnescape(issuer)
	s.Subject, errSubject = url.PathUnescape(subject)
	if err := errors.Join(errIssuer, errSubject); err != nil {
		return Service{}, err
	}
	if !fetch.IsSafe(s.Issuer) { // with http, an attacker in the network could replace the keys
		return Service{}, errors.New("the issuer must be an https:// URL, or an http:// URL of this machine")
	}
	if !principal.IsSubject(s.Subject) {
		return Service{}, errors.New("the subject must have 1 to 255 bytes and no control characters")
	}
	return s, nil
}
