package authn_test

import (
	"context"
	"strings"
	"testing"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/route"
)

// TestOtherSchemesOfSixLettersAreNotBearer changes each letter of "bearer" to every other letter. Only the case of the
// letters may differ (RFC 9110, section 11.1).
func TestOtherSchemesOfSixLettersAreNotBearer(t *testing.T) {
	key, table := minted(t)
	a := authn.New(table, &authntest.Tokens{})
	schemes := []string{"Digest", "Basicx", "Bearér", "Bearer\t", "Bearer:", "\u0412earer", "Bearer\u00a0"}
	for i := range len("bearer") {
		for c := 'a'; c <= 'z'; c++ {
			if scheme := "bearer"[:i] + string(c) + "bearer"[i+1:]; scheme != "bearer" {
				schemes = append(schemes, scheme, strings.ToUpper(scheme))
			}
		}
	}
	for _, scheme := range schemes {
		for want, credential := range map[principal.Credential]string{principal.APIKey: key, principal.UserToken: jwt} {
			_, err := a.Authorize(context.Background(), route.Route{Takes: want}, []string{scheme + " " + credential})
			if !problem.Is(err, problem.InvalidCredentials) {
				t.Errorf("%q: %v", scheme, err)
			}
		}
	}
	if table.Reads != 0 || table.Signed != nil {
		t.Errorf("%d reads", table.Reads)
	}
	for _, scheme := range []string{"Bearer", "bearer", "BEARER", "bEaReR"} {
		if _, err := a.Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{scheme + " " + key}); err != nil {
			t.Errorf("%q: %v", scheme, err)
		}
	}
}

func TestAHashThatDiffersInOneByteIsRefused(t *testing.T) {
	key, table := minted(t)
	right := table.Key.Hash
	for i := range right {
		for _, bit := range []byte{1, 0x80} {
			table.Key.Hash = right
			table.Key.Hash[i] ^= bit
			_, err := authn.New(table, &authntest.Tokens{}).Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key})
			if !problem.Is(err, problem.InvalidCredentials) {
				t.Errorf("byte %d: %v", i, err)
			}
		}
	}
	table.Key.Hash = apikey.Hash{} // a row without a hash
	if _, err := authn.New(table, &authntest.Tokens{}).Authorize(context.Background(), route.Route{Takes: principal.APIKey}, []string{"Bearer " + key}); !problem.Is(err, problem.InvalidCredentials) {
		t.Errorf("no hash: %v", err)
	}
	if table.Noted != 0 {
		t.Error("a refused key was noted as used")
	}
}
