package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
)

// earlier is the owner's earlier system of API keys, which is asked for keys that were not imported yet. A real one is a table
// of hashes by bcrypt, or the API of a vendor.
type earlier struct {
	system string // answers POST {"key"} with the key's org and name as JSON, or 404 for a key that is not good
	api    string // Latchkey's
	token  func(context.Context) (string, error)
}

// fallback returns the guard's Fallback, nil without an earlier system. The token is that of a service; a real program
// gets one from its issuer, and another one before that expires.
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
	status, err := send(ctx, http.MethodPost, e.system, "", map[string]string{"key": text}, &key)
	if err != nil || status == http.StatusNotFound {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("the earlier system: %d", status)
	}
	token, err := e.token(ctx)
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(text))
	body := map[string]any{"keys": []any{map[string]any{
		"sha256": hex.EncodeToString(hash[:]), "prefix": text[:min(len(text), 8)], "name": key.Name, "scopes": key.Scopes,
	}}}
	status, err = send(ctx, http.MethodPost, e.api+"/v1/orgs/"+key.OrgID+"/keys/import", token, body, nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the import: %d", status)
	}
	return err // the answer may refuse the one key because another request was faster: the guard reads that one's row
}

// send sends JSON, and decodes the body of a 200 into answer, unless that is nil.
func send(ctx context.Context, method, target, token string, body, answer any) (status int, err error) {
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		text = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(ctx, method, target, text)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = out.Body.Close() }()
	if out.StatusCode == http.StatusOK && answer != nil {
		err = json.NewDecoder(out.Body).Decode(answer)
	}
	return out.StatusCode, err
}
