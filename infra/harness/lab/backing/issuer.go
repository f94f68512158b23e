package backing

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"latchkey/infra/tools/parts"
)

// TokenKind is a kind of token that an issuer makes.
type TokenKind struct {
	Param  string         // the name of a request parameter; "": kind
	Name   string         // the value of that parameter which selects this kind, or a regular expression for it
	Type   string         // the header typ of the token
	Claims map[string]any // in texts, the issuer (a Java server) replaces ${name} by the request parameter of that name
}

// IssuerOptions are the options of a token issuer.
type IssuerOptions struct {
	ID      string // the path of the issuer's URL
	Login   string // the file of the page on which a browser signs in: a form that posts username; "": no browser signs in
	Kinds   []TokenKind
	KeyPath string // the file of the signing key, created if it is missing
	Options
}

// StartIssuer starts a token issuer that signs with ES256. IssuerURL returns its URL. Without Java or
// Maven the error is a *tools.MissingError.
func StartIssuer(ctx context.Context, o IssuerOptions) (*Process, error) {
	dir, err := parts.Issuer(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	key, err := issuerKey(o.KeyPath)
	if err != nil {
		return nil, fmt.Errorf("the issuer's key: %w", err)
	}
	config, err := issuerConfig(o, key)
	if err != nil {
		return nil, err
	}
	return start(ctx, "issuer", o.Options, func(port int) (*exec.Cmd, error) {
		cmd, err := java(dir, "Issuer")
		if err != nil {
			return nil, err
		}
		cmd.Env = append(os.Environ(), "SERVER_HOSTNAME=127.0.0.1", fmt.Sprintf("SERVER_PORT=%d", port), "JSON_CONFIG="+config)
		return cmd, nil
	})
}

// IssuerURL returns the URL of the issuer with an ID on a port. The issuer's tokens have this URL as the claim iss.
func IssuerURL(port int, id string) string { return fmt.Sprintf("http://127.0.0.1:%d/%s", port, id) }

// issuerKey returns the private P-256 key in the file as a JWK in JSON. If the file is missing, it makes a key and writes the file.
func issuerKey(path string) (string, error) {
	if b, err := os.ReadFile(path); !os.IsNotExist(err) {
		return string(b), err
	}
	jwk, err := newJWK()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return jwk, os.WriteFile(path, []byte(jwk), 0o600)
}

func newJWK() (string, error) {
	key, jwk, err := NewKey()
	if err != nil {
		return "", err
	}
	d, errD := key.Bytes()
	jwk["d"] = base64.RawURLEncoding.EncodeToString(d)
	b, err := json.Marshal(jwk)
	return string(b), errors.Join(errD, err)
}

// NewKey makes a signing key for an issuer. jwk is the public half (RFC 7517), with a unique kid.
func NewKey() (key *ecdsa.PrivateKey, jwk map[string]string, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	point, err := key.PublicKey.Bytes() // the byte 4 (uncompressed), x, y
	if err != nil {
		return nil, nil, err
	}
	b64 := base64.RawURLEncoding.EncodeToString
	return key, map[string]string{
		"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "local-" + b64(point[1:7]), "x": b64(point[1:33]), "y": b64(point[33:]),
	}, nil
}

// issuerConfig returns the issuer's configuration. Each kind of token is a mapping; a parameter of the request selects it.
func issuerConfig(o IssuerOptions, jwk string) (string, error) {
	mappings := make([]map[string]any, len(o.Kinds))
	for i, k := range o.Kinds {
		mappings[i] = map[string]any{"requestParam": cmp.Or(k.Param, "kind"), "match": k.Name, "typeHeader": k.Type, "claims": k.Claims}
	}
	config := map[string]any{
		"interactiveLogin": o.Login != "",
		"httpServer":       "NettyWrapper",
		"tokenProvider":    map[string]any{"keyProvider": map[string]any{"initialKeys": jwk, "algorithm": "ES256"}},
		"tokenCallbacks":   []map[string]any{{"issuerId": o.ID, "tokenExpiry": 3600, "requestMappings": mappings}},
	}
	if o.Login != "" {
		config["loginPagePath"] = o.Login
	}
	b, err := json.Marshal(config)
	return string(b), err
}
