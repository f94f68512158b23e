package forwardauth_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"latchkey/pkg/apikey"
	"latchkey/pkg/limit"
	"latchkey/pkg/store"
)

// TestTheLargestAnswerFitsAPIGateway: API Gateway accepts at most 10,240 bytes of header lines, and nginx buffers them.
func TestTheLargestAnswerFitsAPIGateway(t *testing.T) {
	key, table, h := door(t)
	var scopes []string
	for i := range apikey.MaxScopes {
		scopes = append(scopes, fmt.Sprintf("%064d", i))
	}
	table.Key.Name, table.Key.Scopes, table.Key.ExpiresAt = strings.Repeat("😀", 100), apikey.JoinScopes(scopes), 1<<47
	table.Key.Metadata = map[string]string{}
	for n := range 1000 { // as many entries as are allowed
		name := fmt.Sprintf("%d", n)
		table.Key.Metadata[name] = strings.Repeat("<", 100)
		if !apikey.ValidMetadata(table.Key.Metadata) {
			delete(table.Key.Metadata, name)
			break
		}
	}
	rules := limit.Rules{limit.MaxRequests, limit.MaxRequests, limit.MaxRequests, limit.MaxRequests}.Text()
	table.Key.Limits, table.Key.Ceilings, table.Key.OrgState = rules, rules, store.OrgState{Allowance: rules, Plan: strings.Repeat("p", 16), Version: 1}
	w := ask(h, http.MethodGet, "/authorize", key)
	size := 0
	for name, values := range w.Header() {
		for _, value := range values {
			size += len(name) + len(": ") + len(value) + len("\r\n")
		}
	}
	if w.Code != http.StatusOK || size > 10_240 || size < 4_096 {
		t.Errorf("%d, %d bytes of headers", w.Code, size)
	}
	t.Logf("%d bytes", size)
}
