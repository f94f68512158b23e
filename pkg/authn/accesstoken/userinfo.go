package accesstoken

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"latchkey/pkg/authn/jwks"
	"latchkey/pkg/cause"
	"latchkey/pkg/fetch"
	"latchkey/pkg/problem"
)

// userinfoTimeout limits a call of the userinfo endpoint, together with discovery.
const userinfoTimeout = 3 * time.Second

// Profile is the issuer's description of a user. It is zero when the issuer has none.
type Profile struct {
	Email         string // a text, or the text in a list of one; "" when there is no such email
	OddEmail      bool   // there is an email of another type
	EmailVerified bool   // false without an email
	Name          string // "" when there is none
	Unreadable    bool   // the issuer's description cannot be read
}

// The log shows these errors. They mean that an answer of userinfo cannot be used.
var (
	errUserinfoStatus = errors.New("token: userinfo answers with an unexpected status")
	errUserinfoBusy   = fmt.Errorf("token: userinfo answers 429: %w", problem.ErrAtWill) // one person may send too many requests
	errUserinfoType   = errors.New("token: userinfo answers neither JSON nor a JWT")
	errUserinfoSigned = errors.New("token: userinfo's signed answer is not this issuer's")
)

// How long Verifier remembers an answer of userinfo without a profile or an email, and a fault.
const (
	noProfileFor = 5 * time.Minute
	faultFor     = 10 * time.Second
)

// answered is an answer of userinfo without an email, or its fault.
type answered struct {
	profile Profile
	err     error
}

// Userinfo calls the issuer's userinfo endpoint (OpenID Connect Core, section 5.3) for the user of a verified token. The
// Profile is zero when the issuer has no userinfo endpoint, has no profile for the token there (204, 4xx), or answers about
// another user. The Verifier remembers a profile without an email for 5 minutes, and an error or an unreadable answer
// for 10 seconds. It does not keep a profile with an email, because the caller keeps it.
//
// Errors: unavailable, with problem.ErrAtWill when one person can cause it.
func (v *Verifier) Userinfo(ctx context.Context, raw, subject string) (Profile, error) {
	a, isKnown := v.answers.get(raw)
	if !isKnown {
		within, cancel := context.WithTimeout(ctx, userinfoTimeout)
		defer cancel()
		a.profile, a.err = v.fetchProfile(within, raw, subject)
		until := v.now().Add(noProfileFor)
		if a.err != nil || a.profile.Unreadable {
			until = v.now().Add(faultFor)
		}
		if a.profile.Email == "" && ctx.Err() == nil { // if the caller has left, the error is no fault of userinfo
			v.answers.add(raw, a, until)
		}
	}
	if a.err != nil {
		return Profile{}, unavailable(a.err)
	}
	return a.profile, nil
}

// fetchProfile calls the userinfo endpoint. It returns the zero Profile in the cases that Userinfo names, and an error
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
	switch {
	case errors.Is(err, fetch.ErrTooLarge):
		return Profile{Unreadable: true}, nil
	case err != nil:
		return Profile{}, err
	case a.Status == http.StatusTooManyRequests:
		return Profile{}, errUserinfoBusy
	case a.Status == http.StatusNoContent, a.Status/100 == 4 && a.Status != http.StatusRequestTimeout:
		return Profile{}, nil
	case a.Status != http.StatusOK:
		return Profile{}, errUserinfoStatus
	}
	claims, err := v.readAnswer(ctx, a)
	if errors.Is(err, errUnreadable) {
		return Profile{Unreadable: true}, nil
	}
	if err != nil {
		return Profile{}, err
	}
	// Section 5.3.2: an answer about another subject must not be used.
	if sub, _ := claims["sub"].(string); sub == "" || sub != subject {
		return Profile{}, nil
	}
	return v.profile(claims), nil
}

// readAnswer reads an answer of userinfo. The answer is JSON or, depending on the client's settings at the issuer, a JWT that the issuer
// signed (section 5.3.2). The aud of this JWT is the id of a client that Latchkey does not know, so aud is not checked.
func (v *Verifier) readAnswer(ctx context.Context, a fetch.Answer) (map[string]any, error) {
	mediaType, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	switch {
	case err == nil && mediaType == "application/json":
		return members(a.Body)
	case err != nil || mediaType != "application/jwt":
		return nil, errUserinfoType
	}
	raw := string(a.Body)
	t, err := open(raw, jwks.MaxAnswer, members)
	if err != nil {
		return nil, err
	}
	h, err := checkHeader(t.header)
	if err != nil {
		return nil, err
	}
	iss, has := t.payload["iss"]
	isOtherIssuer := has && iss != v.cfg.Issuer
	if h.hasAccessTyp || isOtherIssuer { // an access token is not a valid answer, even when it is signed
		return nil, errUserinfoSigned
	}
	if _, _, err := v.users.verify(ctx, v.answerParser, raw, h, t.payload); err != nil {
		return nil, errors.Join(errUserinfoSigned, err)
	}
	return t.payload, nil
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
	// Some issuers write the boolean as a string, and Entra sometimes as "1". Any other value means not verified.
	verified, hasClaim := claims[v.cfg.EmailVerifiedClaim]
	isOfEntra := v.cfg.EmailVerifiedClaim == "xms_edov" && verified == "1"
	isYes := verified == true || verified == "true" || isOfEntra || !hasClaim && v.cfg.EmailsAreVerified
	p.EmailVerified = p.Email != "" && isYes
	return p
}
