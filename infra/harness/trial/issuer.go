package main

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"time"

	"latchkey/infra/harness/lab/backing"

	"github.com/golang-jwt/jwt/v5"
)

// The trial's issuer is only a name, a private key in a file, and the public key at an address that Lambda can read.
const (
	issuer   = "https://trial.invalid"
	audience = "https://trial.invalid/api"
	keyID    = "trial"
	keyFile  = "key.pem"
)

// makeKey writes a new key of the issuer into a folder, and returns its JWK set.
func makeKey(dir string) (jwks string, err error) {
	key, jwk, err := backing.NewKey()
	if err != nil {
		return "", err
	}
	jwk["kid"] = keyID
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, keyFile), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"keys": []any{jwk}})
	return string(text), err
}

// token returns an access token of the trial's issuer for a verified email. The subject is the hash of the email.
func token(dir, email, name string, now time.Time) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return "", err
	}
	key, err := jwt.ParseECPrivateKeyFromPEM(text)
	if err != nil || email == "" {
		return "", cmp.Or(err, errors.New("EMAIL is missing"))
	}
	subject := sha256.Sum256([]byte(email))
	t := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": issuer, "aud": audience, "sub": hex.EncodeToString(subject[:]), "email": email, "email_verified": true, "name": name,
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	t.Header["kid"], t.Header["typ"] = keyID, "at+jwt"
	return t.SignedString(key)
}
