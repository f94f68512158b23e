package backing

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Audience is the aud of the local issuer's tokens.
const Audience = "https://api.latchkey.test"

// issuerID is the path of the issuer's URL.
const issuerID = "latchkey"

// Kind is a kind of token that the local issuer makes.
type Kind string

// The kinds of token.
const (
	// User is an access token (RFC 9068) of a person with a verified email.
	User Kind = "user"
	// Unverified is a token of a person whose email is not verified.
	Unverified Kind = "unverified"
	// Service is a token of a machine, which has no email.
	Service Kind = "service"
	// IDToken is an ID token with the claims of User.
	IDToken Kind = "idtoken"
	// Userinfo is a token without email and name. The userinfo endpoint has them
	// (UserinfoHandler).
	Userinfo Kind = "userinfo"
	// OtherAudience is a User's token for another API.
	OtherAudience Kind = "otheraudience"
)

// Claims of a Userinfo token that the userinfo endpoint returns as email and name. The product
// reads neither.
const (
	hiddenEmail = "userinfo_email"
	hiddenName  = "userinfo_name"
)

// IssuerOptions are the options of a token issuer.
type IssuerOptions struct {
	Port     int      // 0: a free one
	KeyPath  string   // the file of the signing key, made if it is not there; "": a new key each time
	LogPath  string   // "": the log is only for error messages
	Progress Progress // nil: standard error
}

// Issuer is a running token issuer.
type Issuer struct {
	*Process
	URL string // the iss of its tokens
}

// JWKSURL returns the URL of the issuer's keys.
func (i *Issuer) JWKSURL() string { return i.URL + "/jwks" }

// StartIssuer starts a token issuer that signs with ES256. Without Java or Maven the error is a
// *MissingError.
func StartIssuer(ctx context.Context, o IssuerOptions) (*Issuer, error) {
	dir, err := install(ctx, javaTool("issuer", "issuer.xml", "Issuer.java"), o.Progress)
	if err != nil {
		return nil, err
	}
	key, err := issuerKey(o.KeyPath)
	if err != nil {
		return nil, fmt.Errorf("the issuer's key: %w", err)
	}
	config, err := issuerConfig(key)
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, child{
		name: "issuer", port: o.Port, logPath: o.LogPath,
		command: func(port int) (*exec.Cmd, error) {
			cmd, err := java(dir, "Issuer")
			if err != nil {
				return nil, err
			}
			cmd.Env = append(os.Environ(), "SERVER_HOSTNAME=127.0.0.1", fmt.Sprintf("SERVER_PORT=%d", port), "JSON_CONFIG="+config)
			return cmd, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return &Issuer{Process: p, URL: IssuerURL(p.Port)}, nil
}

// IssuerURL returns the iss of a local issuer on the port.
func IssuerURL(port int) string { return fmt.Sprintf("http://127.0.0.1:%d/%s", port, issuerID) }

// issuerKey returns the private P-256 key of the file as a JWK in JSON, or makes one.
func issuerKey(path string) (string, error) {
	if path != "" {
		if b, err := os.ReadFile(path); err == nil {
			return string(b), nil
		} else if !os.IsNotExist(err) {
			return "", err
		}
	}
	jwk, err := newJWK()
	if err != nil || path == "" {
		return jwk, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return jwk, os.WriteFile(path, []byte(jwk), 0o600)
}

func newJWK() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	d, err := key.Bytes()
	if err != nil {
		return "", err
	}
	point, err := key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		return "", err
	}
	b64 := base64.RawURLEncoding.EncodeToString
	b, err := json.Marshal(map[string]string{
		"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "local-" + b64(point[1:7]),
		"x": b64(point[1:33]), "y": b64(point[33:]), "d": b64(d),
	})
	return string(b), err
}

// mapping has the claims of a kind of token. The issuer uses the first mapping whose kind is that
// of the request.
type mapping struct {
	RequestParam string         `json:"requestParam"`
	Match        string         `json:"match"`
	TypeHeader   string         `json:"typeHeader"`
	Claims       map[string]any `json:"claims"`
}

func issuerConfig(jwk string) (string, error) {
	mapTo := func(kind Kind, typ string, claims map[string]any) mapping {
		all := map[string]any{"sub": "${sub}", "aud": []string{Audience}, "client_id": "${client_id}"}
		for name, value := range claims {
			all[name] = value
		}
		return mapping{"kind", string(kind), typ, all}
	}
	person := func(verified bool) map[string]any {
		return map[string]any{"email": "${email}", "email_verified": verified, "name": "${name}"}
	}
	id := person(true)
	id["token_use"], id["at_hash"] = "id", "MTIzNDU2Nzg5MDEyMzQ1Ng"
	other := person(true)
	other["aud"] = []string{"https://another.test"}
	b, err := json.Marshal(map[string]any{
		"interactiveLogin": false,
		"httpServer":       "NettyWrapper",
		"tokenProvider":    map[string]any{"keyProvider": map[string]any{"initialKeys": jwk, "algorithm": "ES256"}},
		"tokenCallbacks": []map[string]any{{
			"issuerId": issuerID, "tokenExpiry": 3600,
			"requestMappings": []mapping{
				mapTo(User, "at+jwt", person(true)),
				mapTo(Unverified, "at+jwt", person(false)),
				mapTo(Service, "at+jwt", nil),
				mapTo(IDToken, "JWT", id),
				mapTo(Userinfo, "at+jwt", map[string]any{hiddenEmail: "${email}", hiddenName: "${name}"}),
				mapTo(OtherAudience, "at+jwt", other),
			},
		}},
	})
	return string(b), err
}
