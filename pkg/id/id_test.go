package id_test

import (
	"strings"
	"testing"
	"time"

	"latchkey/pkg/id"
)

func TestAnIDHasExactlyOneSpelling(t *testing.T) {
	o := string(id.Source{}.NewOrg())
	if _, err := id.ParseOrg(o); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "org_", strings.ToUpper(o), o + "0", o[:len(o)-1], " " + o, o + "\x00",
		"usr_" + o[4:], strings.Replace(o, "_", "-", 1), o[:len(o)-1] + "i", o[:len(o)-1] + "u",
		"org_8" + o[5:], "org_" + strings.ToUpper(o[4:]), "org_" + strings.Repeat("é", 13),
	} {
		if _, err := id.ParseOrg(bad); err == nil {
			t.Errorf("%q: taken", bad)
		}
	}
}

func TestIDsOfKeysSortByTime(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	if a, b := (id.Source{}).NewKey(at), (id.Source{}).NewKey(at.Add(time.Millisecond)); a >= b {
		t.Errorf("%s >= %s", a, b)
	}
}

func TestAnOrgsDefaultAppIsAnAppID(t *testing.T) {
	o := id.Source{}.NewOrg()
	if _, err := id.ParseApp(string(id.DefaultApp(o))); err != nil {
		t.Error(err)
	}
}
