package accesstoken

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	"latchkey/pkg/authn/jwks"
	"latchkey/pkg/cause"
	"latchkey/pkg/fetch"
)

// userinfoTimeout bounds a call of the userinfo endpoint, discovery included.
const userinfoTimeout = 3 * time.Second

// Profile is the issuer's description of a user. It is zero when the issuer has no description.
type Profile struct {
	Email         string // "" when there is none that is a text, or a list of one text
	OddEmail      bool   // there is one that is no such text
	EmailVerified bool   // false without an email
	Name          string // "" when there is none
}

// The reasons for which an answer of userinfo cannot be used, for the log.
var (
	errUserinfoStatus = errors.New("token: userinfo answers with an unexpected status")
	errUserinfoType   = errors.New("token: userinfo answers neither JSON nor a JWT")
	errUserinfoSigned = errors.New("token: userinfo's signed answer is not this issuer's")
)

// noProfileFor is how long userinfo is not called again for a token without a profile, or without an email in it.
const noProfileFor = 5 * time.Minute

// Userinfo calls the issuer's userinfo endpoint (OpenID Connect Core, section 5.3) for the user
// of a verified token. The Profile is zero when the issuer has no userinfo endpoint, does not
// accept the token there (401, 403), or answers about another user. For 5 minutes the Verifier
// remembers each of these cases, and a profile without an email, of which it then returns the zero Profile. It does not
// keep profiles with an email, because the caller keeps them.
//
// Errors: unavailable.
func (v *Verifier) Userinfo(ctx context.Context, raw, subject string) (Profile, error) {
	if _, noProfile := v.noProfile.get(raw); noProfile {
		return Profile{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, userinfoTimeout)
	defer cancel()
	p, err := v.fetchProfile(ctx, raw, subject)
	if err != nil {
		return Profile{}, unavailable(err)
	}
	if p.Email == "" {
		v.noProfile.add(raw, struct{}{}, v.now().Add(noProfileFor))
	}
	return p, nil
}

// fetchProfile calls the userinfo endpoint. It returns the zero Profile in the cases that Userinfo lists, and an error
// for every fault of the issuer.
func (v *Verifier) fetchProfile(ctx context.Context, raw, subject string) (Profile, error) {
	address := v.cfg.UserinfoURL
	if address == "" {
		doc, err := v.discovery.Get(ctx)
		if err != nil && !errors.Is(err, jwks.ErrNoDiscovery) {
			return Profile{}, err
		}
		if address = doc.Userinfo; address == "" {
			return Profile{}, nil
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Profile{}, cause.Of(err)
	}
	req.Header.Set("Accept", "application/json, application/jwt")
	req.Header.Set("Authorization", "Bearer "+raw)
	a, err := fetch.Do(v.client, req, jwks.MaxAnswer)
	if err != nil {
		return Profile{}, err
	}
	switch a.Status {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return Profile{}, nil
	default:
		return Profile{}, errUserinfoStatus
	}
	claims, err := v.readAnswer(ctx, a)
	if err != nil {
		return Profile{}, err
	}
	// Section 5.3.2: an answer about another subject must not be used.
	if sub, _ := claims["sub"].(string); sub == "" || sub != subject {
		return Profile{}, nil
	}
	return v.profile(claims), nil
}

// readAnswer reads an answer of userinfo: JSON or, by the settings of the issuer's client, a JWT that the issuer signed
// (section 5.3.2). The aud of this JWT is the id of a client that Latchkey does not know, so aud is not checked.
func (v *Verifier) readAnswer(ctx context.Context, a fetch.Answer) (map[string]any, error) {
	mediaType, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	switch {
	case err == nil && mediaType == "application/json":
		return object(a.Body)
	case err != nil || mediaType != "application/jwt":
		return nil, errUserinfoType
	}
	raw := string(a.Body)
	t, err := open(raw, maxAnswer)
	if err != nil {
		return nil, err
	}
	h, err := checkHeader(t.header)
	if err != nil {
		return nil, err
	}
	iss, has := t.payload["iss"]
	isOtherIssuer := has && iss != v.cfg.Issuer
	if h.hasAccessTyp || isOtherIssuer { // an access token is no answer, even when it is signed
		return nil, errUserinfoSigned
	}
	claims, _, err := v.users.verify(ctx, v.answerParser, raw, h, t.payload)
	if err != nil {
		return nil, errors.Join(errUserinfoSigned, err)
	}
	return claims, nil
}

// profile reads the configured claims of a token or of userinfo's answer.
func (v *Verifier) profile(claims map[string]any) Profile {
	var p Profile
	email := claims[v.cfg.EmailClaim]
	if list, ok := email.([]any); ok && len(list) == 1 {
		email = list[0]
	}
	p.Email, p.OddEmail = email.(string)
	p.OddEmail = !p.OddEmail && claims[v.cfg.EmailClaim] != nil
	p.Name, _ = claims[v.cfg.NameClaim].(string)
	p.Email, p.Name = strings.TrimSpace(p.Email), strings.TrimSpace(p.Name)
	// Some issuers write the boolean as a string. Every other value is a no.
	verified, isSaid := claims[v.cfg.EmailVerifiedClaim]
	isYes := verified == true || verified == "true" || !isSaid && v.cfg.EmailsAreVerified
	p.EmailVerified = p.Email != "" && isYes
	return p
}
