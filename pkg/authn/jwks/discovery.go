package jwks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"latchkey/pkg/cause"
)

// Document has the used members of an issuer's discovery document (OpenID Connect Discovery
// 1.0, section 3).
type Document struct {
	JWKSURI  string // jwks_uri; "": the document has none
	Userinfo string // userinfo_endpoint; "": the document has none

	// The endpoints for a page: to sign in, to change the code for tokens, to sign out, and to revoke a token (RFC 7009); "": the
	// document has none that can be used.
	Authorization, Token, EndSession, Revocation string
}

// Discovery keeps an issuer's discovery document, with the same rules as Source.
type Discovery struct {
	doc cached[Document]
}

// NewDiscovery returns the Discovery of an issuer. It makes no call.
func NewDiscovery(issuer string, client *http.Client, patience Patience, now func() time.Time) *Discovery {
	address := strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
	return &Discovery{cached[Document]{now: now, patience: patience, fetch: func(ctx context.Context) (Document, error) {
		a, err := readMoved(ctx, client, address)
		if err != nil {
			return Document{}, err
		}
		return parseDocument(a.Body, issuer)
	}}}
}

// Get returns the document. ErrNoDiscovery means that the issuer has none. Every other error
// means that it cannot be read now and no document is kept.
func (d *Discovery) Get(ctx context.Context) (Document, error) {
	v, err := d.doc.get(ctx)
	var status statusError
	if errors.As(err, &status) && status == http.StatusNotFound {
		return Document{}, ErrNoDiscovery
	}
	return v.value, err
}

// ErrNoDiscovery means that the issuer answers 404 for its discovery document.
var ErrNoDiscovery = errors.New("jwks: the issuer has no discovery document")

// parseDocument reads and checks a discovery document.
func parseDocument(body []byte, issuer string) (Document, error) {
	var d struct {
		Issuer   string `json:"issuer"`
		JWKSURI  string `json:"jwks_uri"`
		Userinfo string `json:"userinfo_endpoint"`

		Authorization string `json:"authorization_endpoint"`
		Token         string `json:"token_endpoint"`
		EndSession    string `json:"end_session_endpoint"`
		Revocation    string `json:"revocation_endpoint"`
	}
	if err := json.Unmarshal(body, &d); err != nil {
		return Document{}, fmt.Errorf("jwks: not a discovery document: %w", cause.Of(err))
	}
	// Section 4.3: another issuer's document must not be used.
	if d.Issuer != issuer {
		return Document{}, errors.New("jwks: the discovery document is another issuer's")
	}
	for _, address := range []string{d.JWKSURI, d.Userinfo} {
		if address == "" {
			continue
		}
		if err := checkAddress(address, issuer); err != nil {
			return Document{}, err
		}
	}
	// Only pages use these addresses, so a fault in one of them must not hide the keys.
	usable := func(address string) string {
		if checkAddress(address, issuer) != nil {
			return ""
		}
		return address
	}
	return Document{
		JWKSURI: d.JWKSURI, Userinfo: d.Userinfo,
		Authorization: usable(d.Authorization), Token: usable(d.Token), EndSession: usable(d.EndSession), Revocation: usable(d.Revocation),
	}, nil
}
