package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// earlier is the owner's earlier system of API keys, which is asked for keys that were not imported yet. A real one is a table
// of hashes by bcrypt, or the API of a vendor.
type earlier struct {
	system string // answers POST {"key"} with the key's org and name as JSON, or 404 for a key that is not good
	api    string // Latchkey's
	token  func(context.Context) (string, error)
}

// fallback returns the guard's Fallback, nil without an earlier system. The token is a service's; a real program gets one from its
// issuer, and a new one before it expires.
func fallback() func(ctx context.Context, text string) error {
	if os.Getenv("EARLIER_SYSTEM") == "" {
		return nil
	}
	e := earlier{os.Getenv("EARLIER_SYSTEM"), os.Getenv("LATCHKEY_API"), func(context.Context) (string, error) { return os.Getenv("SERVICE_TOKEN"), nil }}
	return e.importIfGood
}

// importIfGood imports a key that is good in the earlier system. The guard then reads the imported key, and decides by it.
func (e earlier) importIfGood(ctx context.Context, text string) error {
	var key struct {
		OrgID  string   `json:"orgId"`
		Name   string   `json:"name"`
		Scopes []string `json:"scopes"`
	}
	// In the body: errors and access logs have addresses, so a key in a query would be in logs.
	err := post(ctx, e.system, "", map[string]string{"key": text}, &key)
	if errors.Is(err, status(http.StatusNotFound)) {
		return nil
	}
	if err != nil {
		return err
	}
	token, err := e.token(ctx)
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(text))
	body := map[string]any{"keys": []any{map[string]any{
		"sha256": hex.EncodeToString(hash[:]), "prefix": text[:min(len(text), 8)], "name": key.Name, "scopes": key.Scopes,
	}}}
	// The answer may refuse the one key because another request was faster: the guard reads that one's row.
	return post(ctx, e.api+"/v1/orgs/"+key.OrgID+"/keys/import", token, body, nil)
}

// status is the error of an answer with another status than 200. The guard reports it by HTTPStatusCode: it shows no text of an error.
type status int

func (s status) Error() string       { return fmt.Sprintf("status %d", int(s)) }
func (s status) HTTPStatusCode() int { return int(s) }

// post sends JSON, and decodes the body of a 200 into answer, unless that is nil.
func post(ctx context.Context, target, token string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // no other host gets the key, or the token
	out, err := (&http.Client{Timeout: 2 * time.Second, CheckRedirect: noRedirect}).Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = out.Body.Close() }()
	if out.StatusCode != http.StatusOK {
		return status(out.StatusCode)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(out.Body).Decode(answer)
}
