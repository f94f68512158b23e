// Package libraries runs JWT libraries over the vectors. It finds the cases that a library judges wrong, so that a receiver needs
// another check. `make clients` runs this package. `make test` does not, because it installs many packages.
package libraries

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/infra/examples/vectors"
	"latchkey/infra/tools"
	"latchkey/pkg/p256"
	"latchkey/pkg/servicetest"
)

const (
	vectorsFile = "../webhooks.json"
	receivers   = "../../receivers/" // its lock files pin the versions of jose and PyJWT
	accepts     = "accepts"
	refuses     = "refuses"
)

// library is a JWT library. name has %s for the version; the pattern version finds it in the file pins. run returns a line
// for each case: the verdict (accepts or refuses), a tab, and the case's name.
type library struct {
	name, pins, version string
	run                 func(t *testing.T, v vectors.Vectors) string
}

func libraries() []library {
	const goMod, goVersion = "../../../../go.mod", `golang-jwt/jwt/v5 v(\S+)`
	return []library{
		{"golang-jwt %s, claims in a struct", goMod, goVersion, func(_ *testing.T, v vectors.Vectors) string {
			return golangJWT(v, func() jwt.Claims { return &jwt.RegisteredClaims{} })
		}},
		{"golang-jwt %s, claims in a map", goMod, goVersion, func(_ *testing.T, v vectors.Vectors) string {
			return golangJWT(v, func() jwt.Claims { return jwt.MapClaims{} })
		}},
		{"jose %s (Node)", receivers + "node/package.json", `"jose": "(.+)"`, jose},
		{"PyJWT %s", receivers + "python/requirements.txt", `(?m)^pyjwt==(\S+)`, pyJWT},
		{"Nimbus JOSE + JWT %s (Java)", "pom.xml", `nimbus-jose-jwt</artifactId>\s*<version>(.+)</version>`, nimbus},
	}
}

// TestTheTableOfLibrariesIsCurrent compares the libraries' verdicts with the table in infra/docs/webhooks.md.
func TestTheTableOfLibrariesIsCurrent(t *testing.T) {
	var v vectors.Vectors
	if err := json.Unmarshal([]byte(read(t, vectorsFile)), &v); err != nil {
		t.Fatal(err)
	}
	names := names(t)
	verdicts := map[string][]string{} // by the case's name: the verdict of each library
	for i, l := range libraries() {
		for line := range strings.Lines(l.run(t, v)) {
			verdict, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			verdicts[name] = append(verdicts[name], verdict)
		}
		for _, c := range v.Cases {
			if got := verdicts[c.Name]; len(got) != i+1 || got[i] != accepts && got[i] != refuses {
				t.Fatalf("%s: the verdicts on %q are %q", names[i], c.Name, got)
			}
		}
	}
	if len(verdicts) != len(v.Cases) {
		t.Fatalf("the libraries judged %d cases of %d", len(verdicts), len(v.Cases))
	}
	head := "| Reason | Cases | " + strings.Join(names, " | ") + " |\n|---|---|" + strings.Repeat("---|", len(names)) + "\n"
	servicetest.Generated(t, "../../../docs/webhooks.md", func(text string) (string, error) {
		return servicetest.Insert(text, "libraries", head+rows(v.Cases, verdicts))
	})
}

// names returns the names of the libraries with their versions.
func names(t *testing.T) (names []string) {
	for _, l := range libraries() {
		found := regexp.MustCompile(l.version).FindStringSubmatch(read(t, l.pins))
		if found == nil {
			t.Fatalf("%s has no version of %s", l.pins, l.name)
		}
		names = append(names, fmt.Sprintf(l.name, found[1]))
	}
	return names
}

// rows returns the rows of the table. The cases of a row have the same reason, and the same libraries judge them wrong.
func rows(cases []vectors.Case, verdicts map[string][]string) string {
	type row struct{ reason, cells string }
	var order []row
	names, all := map[row][]string{}, map[string]int{} // all: the number of cases by reason
	for _, c := range cases {
		r, want, differs := row{reason: cmp.Or(c.Reason, "none: it is good")}, refuses, false
		if c.Valid {
			want = accepts
		}
		for _, got := range verdicts[c.Name] {
			if got == want {
				got = ""
			}
			r.cells, differs = r.cells+" "+got+" |", differs || got != ""
		}
		all[r.reason]++
		if !differs {
			continue
		}
		if names[r] == nil {
			order = append(order, r)
		}
		names[r] = append(names[r], c.Name)
	}
	var b strings.Builder
	for _, r := range order {
		list := strings.Join(names[r], "; ")
		if n := len(names[r]); n == all[r.reason] && n > 10 { // the names would fill many lines
			list = fmt.Sprintf("all %d", n)
		}
		fmt.Fprintf(&b, "| `%s` | %s |%s\n", r.reason, list, r.cells)
	}
	return b.String()
}

// golangJWT passes each token to golang-jwt, with claims of the kind that newClaims returns.
func golangJWT(v vectors.Vectors, newClaims func() jwt.Claims) string {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"ES256"}), jwt.WithIssuer(v.Issuer), jwt.WithAudience(v.EndpointID),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(time.Minute), jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(func() time.Time { return time.Unix(v.Now, 0) }))
	var b strings.Builder
	for _, c := range v.Cases {
		verdict := accepts
		if _, err := parser.ParseWithClaims(c.Token, newClaims(), func(token *jwt.Token) (any, error) {
			kid, _ := token.Header["kid"].(string) // no key has the kid ""
			return publicKey(v.Lookups[kid])
		}); err != nil {
			verdict = refuses
		}
		fmt.Fprintf(&b, "%s\t%s\n", verdict, c.Name)
	}
	return b.String()
}

// publicKey returns the key in the answer of a lookup. golang-jwt cannot read a JWK.
func publicKey(a vectors.Answer) (any, error) {
	if a.Status != http.StatusOK {
		return nil, errors.New("the lookup has no key")
	}
	var jwk struct{ X, Y string }
	err := json.Unmarshal(a.Body, &jwk)
	x, errX := base64.RawURLEncoding.DecodeString(jwk.X)
	y, errY := base64.RawURLEncoding.DecodeString(jwk.Y)
	if err := errors.Join(err, errX, errY); err != nil {
		return nil, err
	}
	return p256.PublicKey(x, y)
}

func jose(t *testing.T, _ vectors.Vectors) string {
	modules, err := tools.NodeModules(t.Context(), "receiver-node", read(t, receivers+"node/package.json"), read(t, receivers+"node/package-lock.json"), nil)
	// The program runs from a folder with node_modules, where Node looks for the program's imports.
	dir := t.TempDir()
	program := filepath.Join(dir, "jose.mjs")
	err = errors.Join(err, os.WriteFile(program, []byte(read(t, "jose.mjs")), 0o600),
		os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(dir, "node_modules")))
	return output(t, err, "node", program, vectorsFile)
}

func pyJWT(t *testing.T, _ vectors.Vectors) string {
	python, err := tools.VirtualEnv(t.Context(), "receiver-python", read(t, receivers+"python/requirements.txt"), nil)
	return output(t, err, python, "pyjwt.py", vectorsFile)
}

func nimbus(t *testing.T, _ vectors.Vectors) string {
	dir, err := tools.JavaProgram(t.Context(), "jwt-java", read(t, "pom.xml"), "Nimbus.java", read(t, "Nimbus.java"), nil)
	return output(t, err, "java", "-cp", dir+":"+dir+"/*", "Nimbus", vectorsFile)
}

// output runs an installed program and returns its output. installErr is the error of its installation.
func output(t *testing.T, installErr error, name string, args ...string) string {
	if installErr != nil {
		t.Fatal(installErr)
	}
	out, err := tools.Output(t.Context(), ".", nil, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
