package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The trial's issuer: a name, a key in a file, and the public half of the key at an address that Lambda can read.
const (
	issuer   = "https://trial.invalid"
	audience = "https://trial.invalid/api"
	keyID    = "trial"
	keyFile  = "key.pem"
)

// makeKey makes the issuer's key in a folder, and returns its JWK set.
func makeKey(dir string) (jwks string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, errDER := x509.MarshalPKCS8PrivateKey(key)
	point, errPoint := key.PublicKey.Bytes() // the byte 4, then x and y of 32 bytes each
	if err := errors.Join(errDER, errPoint); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, keyFile), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return "", err
	}
	b64 := base64.RawURLEncoding
	jwk := map[string]string{
		"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": keyID,
		"x": b64.EncodeToString(point[1:33]), "y": b64.EncodeToString(point[33:]),
	}
	text, err := json.Marshal(map[string]any{"keys": []any{jwk}})
	return string(text), err
}

// token returns an access token of the trial's issuer for a verified email. Its user is the email's.
func token(dir, email, name string, now time.Time) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(text)
	if block == nil || email == "" {
		return "", errors.New("there is no key, or no EMAIL")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", err
	}
	subject := sha256.Sum256([]byte(email))
	t := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": issuer, "aud": audience, "sub": hex.EncodeToString(subject[:]), "email": email, "email_verified": true, "name": name,
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	t.Header["kid"], t.Header["typ"] = keyID, "at+jwt"
	return t.SignedString(key)
}
