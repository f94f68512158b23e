package route

import (
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/principal"
)

func TestEachRouteOfAUserTokenHasOneRight(t *testing.T) {
	for _, r := range All() {
		isNamed := r.Right == People || slices.Contains(given(), string(r.Right))
		if want := r.Takes == principal.UserToken; want != strings.HasPrefix(r.Pattern, "/v1/") && r.Operation != Preflight || want != isNamed {
			t.Errorf("%s has the right %q", r.Name(), r.Right)
		}
	}
}

func TestValidRightsAreParsedAndOthersRefused(t *testing.T) {
	names := []string{"billing", "support", "spare"}
	all, err := ParseRights("billing=orgs.read+usage.read+orgs.limit, support=keys.read", names)
	if err != nil || len(all) != 2 || !slices.Equal(all["billing"], []Right{OrgsRead, UsageRead, OrgsLimit}) || !slices.Equal(all["support"], []Right{KeysRead}) {
		t.Fatalf("%v, %v", all, err)
	}
	for _, c := range []struct {
		service string
		right   Right
		want    bool
	}{
		{"billing", OrgsLimit, true}, {"billing", OrgsEnd, false}, {"support", KeysRead, true}, {"support", OrgsRead, false},
		{"spare", OrgsEnd, true}, {"spare", People, false}, {"billing", People, false},
	} {
		if all.Allow(c.service, c.right) != c.want {
			t.Errorf("%s %s: %v", c.service, c.right, !c.want)
		}
	}
	longest := "billing=orgs.read" + strings.Repeat(" ", maxRights-len("billing=orgs.read"))
	if all, err := ParseRights(longest, names); err != nil || !all.Allow("billing", OrgsRead) {
		t.Errorf("%d bytes: %v, %v", maxRights, all, err)
	}
	if none, err := ParseRights("", nil); err != nil || !none.Allow("billing", OrgsEnd) {
		t.Errorf("%v, %v", none, err)
	}
	for text, want := range map[string]string{
		"biling=orgs.read": "no service biling", "billing=": `no right ""`, "billing": "NAME=RIGHT", "=orgs.read": "no service ", ",": "NAME=RIGHT",
		"billing=orgs.reed": `no right "orgs.reed"`, "billing=people": `no right "people"`, "billing=orgs.read+": `no right ""`, "billing=Orgs.Read": "no right",
		"billing=orgs.read+orgs.read": "orgs.read is there twice", "billing=orgs.read,billing=keys.read": "billing is there twice", "billing=orgs.read,": "NAME=RIGHT",
		longest + " ": "bytes",
	} {
		if rights, err := ParseRights(text, names); err == nil || !strings.Contains(err.Error(), want) || rights != nil {
			t.Errorf("%q: %v, %v; want %q", text, rights, err, want)
		}
	}
}
