package parameters_test

import (
	"maps"
	"testing"

	"latchkey/infra/tools/parameters"
)

func TestParametersAreNamesWithValues(t *testing.T) {
	got, err := parameters.Parse(" Issuer=https://t.example/?a=b\tAudience= \n")
	if err != nil || !maps.Equal(got, map[string]string{"Issuer": "https://t.example/?a=b", "Audience": ""}) {
		t.Errorf("%v, %v", got, err)
	}
	got, err = parameters.Parse(`A='openid  api://a/b' B="a, b"  C='' D=a'b E="it's" F='"' G="lk H='a'b I=a="b"`)
	if want := (map[string]string{"A": "openid  api://a/b", "B": "a, b", "C": "", "D": "a'b", "E": "it's", "F": `"`, "G": `"lk`, "H": "'a'b", "I": `a="b"`}); err != nil || !maps.Equal(got, want) {
		t.Errorf("quoted: %q, %v", got, err)
	}
	for _, wrong := range []string{"Issuer", "=x", "Issuer=a Issuer=b", "Issuer=https://t.example, Audience", "A='a b", `A="a 'b`, "'A=b c'", "A='b'B='c d'"} {
		if got, err := parameters.Parse(wrong); err == nil {
			t.Errorf("%q: %v", wrong, got)
		}
	}
	if got, err := parameters.Parse(" "); err != nil || len(got) != 0 {
		t.Errorf("an empty text: %v, %v", got, err)
	}
}
