package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"
)

// earlier imports keys from the owner's earlier system when they are first used. A real earlier system is a table of bcrypt hashes,
// or the API of a vendor.
type earlier struct {
	system string // URL of the earlier system. It answers POST {"key"} with the key's org and name as JSON, or 404 for a bad key
	api    string // URL of Latchkey's API
	token  func(context.Context) (string, error)
}

// fallback returns the guard's Fallback; nil: there is no earlier system. Its token belongs to a service. A real program gets tokens
// from its issuer, each before the last one expires.
func fallback() func(ctx context.Context, text string) error {
	if os.Getenv("EARLIER_SYSTEM") == "" {
		return nil
	}
	e := earlier{os.Getenv("EARLIER_SYSTEM"), os.Getenv("LATCHKEY_API"), func(context.Context) (string, error) { return os.Getenv("SERVICE_TOKEN"), nil }}
	return e.importIfGood
}

// importIfGood imports a key that is good in the earlier system. The guard then checks the imported key.
func (e earlier) importIfGood(ctx context.Context, text string) error {
	var key struct {
		OrgID  string   `json:"orgId"`
		Name   string   `json:"name"`
		Scopes []string `json:"scopes"`
	}
	// The key is in the body, because errors and access logs show URLs.
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
	var made struct {
		Keys []struct{ Error struct{ Code string } } // an answer 200 has the refusal of each key
	}
	if err := post(ctx, e.api+"/v1/orgs/"+key.OrgID+"/keys/import", token, body, &made); err != nil {
		return err
	}
	for _, k := range made.Keys {
		if code := k.Error.Code; code != "" && code != "conflict" { // conflict: another request has imported the key, and the guard reads that row
			slog.ErrorContext(ctx, "a key was not imported", "code", code)
			return errors.New("a key was not imported")
		}
	}
	return nil
}

// status is the error of an answer with another status than 200. The guard reports only HTTPStatusCode, never the text of an error.
type status int

func (s status) Error() string       { return fmt.Sprintf("status %d", int(s)) }
func (s status) HTTPStatusCode() int { return int(s) }

// post sends JSON, and decodes the body of a 200 into answer.
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
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // so that no other host gets the key or the token
	out, err := (&http.Client{Timeout: 2 * time.Second, CheckRedirect: noRedirect}).Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = out.Body.Close() }()
	if out.StatusCode != http.StatusOK {
		return status(out.StatusCode)
	}
	return json.NewDecoder(out.Body).Decode(answer)
}
