package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"latchkey/pkg/secret"
)

func TestASecretPrintsRedactedEverywhere(t *testing.T) {
	const hidden = "hunter2-and-more"
	type holder struct {
		Key   secret.String
		inner *secret.String
		own   secret.String
		Map   map[string]secret.String
	}
	s := secret.New(hidden)
	h := holder{Key: s, inner: &s, own: s, Map: map[string]secret.String{"a": s}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", s, h, &h)
	}
	b, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(b)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "s", s, "h", h)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "s", s, "h", h, "err", fmt.Errorf("with %v", s))
	for _, form := range []string{hidden, fmt.Sprintf("%x", hidden), fmt.Sprintf("%X", hidden)} {
		if strings.Contains(out.String(), form) {
			t.Errorf("shown as %q in\n%s", form, out.String())
		}
	}
	if s.Reveal() != hidden {
		t.Error("Reveal does not return the secret")
	}
}
