// Package pkg_test checks which packages each package imports, and that a function is only wiring. See
// infra/docs/design.md, "Where things are".
package pkg_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the module's path. `make home` renames only paths of its folders, such as this one.
var module = strings.TrimSuffix("latchkey/pkg", "/pkg")

// mayImport has, for each package below pkg, the packages of pkg that it may import. The imported packages are above it
// in this list, except boot, which imports none. A new package needs a line here.
var mayImport = map[string][]string{
	"clock":             {},
	"p256":              {},
	"cause":             {},
	"fetch":             {"cause"},
	"callback":          {"cause"},
	"verify":            {"callback", "cause", "clock", "fetch", "p256"}, // receivers of webhooks import it
	"id":                {},
	"secret":            {},
	"principal":         {"id"},
	"strictjson":        {},
	"plainjson":         {},
	"problem":           {"plainjson"},
	"text":              {},
	"email":             {},
	"metric":            {},
	"leaks":             {"clock"},
	"parallel":          {},
	"org":               {"text"},
	"limit":             {"clock", "id"},
	"apikey":            {"id", "plainjson", "secret"},
	"link":              {"id", "plainjson", "secret", "text"},
	"webhook":           {"id", "p256"},
	"table":             {"plainjson"},
	"store":             {"clock", "id", "limit", "principal", "problem", "secret", "apikey", "org", "link", "webhook", "table", "parallel", "plainjson", "strictjson"},
	"servicetest":       {},
	"store/storetest":   {"boot", "email", "id", "org", "servicetest", "store"},
	"authn/jwks":        {"cause", "fetch", "p256"},
	"route":             {"org", "principal"},
	"service":           {"fetch", "principal", "route"},
	"authn/accesstoken": {"authn/jwks", "cause", "fetch", "principal", "problem", "service", "strictjson"},
	"authn":             {"apikey", "authn/accesstoken", "callback", "cause", "clock", "email", "id", "limit", "org", "principal", "problem", "route", "store"},
	"authn/authntest":   {"apikey", "authn/accesstoken", "id", "limit", "org", "store"},
	"guard":             {"authn", "authn/accesstoken", "boot", "callback", "clock", "fetch", "org", "plainjson", "principal", "problem", "store"}, // owners import it
	"guard/shared":      {"guard", "org", "principal"},
	"forwardauth":       {"apikey", "authn/accesstoken", "guard", "id", "limit", "metric", "org", "principal", "problem"},
	"console":           {"authn/jwks", "text"},
	"api":               {"apikey", "console", "email", "id", "limit", "link", "org", "parallel", "plainjson", "principal", "problem", "route", "secret", "store", "strictjson", "text", "webhook"},
	"pipeline/outbound": {},
	"pipeline/queue":    {"webhook"},
	"pipeline/signing":  {"webhook"},
	"pipeline/bus":      {},
	"pipeline":          {"id", "metric", "parallel", "pipeline/outbound", "plainjson", "principal", "store", "webhook"},
	"lambda":            {"metric", "parallel", "principal", "problem"},
	"boot":              {},
	"consumers":         {"cause", "fetch"},
}

// onlyIn has, for each module or package from outside, the packages below pkg that may import it. When several lines match an
// import, each of them must allow it: dynamodb needs the line of the whole SDK and its own line.
var onlyIn = map[string][]string{
	"github.com/aws/aws-sdk-go-v2":               {"store/storetest", "pipeline/signing", "pipeline/queue", "pipeline/bus", "boot", "consumers", "servicetest", "table", "guard"},
	"github.com/aws/aws-lambda-go":               {"lambda"},
	"github.com/awslabs/aws-lambda-go-api-proxy": {"lambda"},
	"github.com/golang-jwt/jwt":                  {"authn/accesstoken"},
	"golang.org/x/net":                           {"email"},
	"github.com/aws/aws-sdk-go-v2/config":        {}, // no package may: it makes a cold start longer (see package boot)
	"github.com/aws/aws-sdk-go-v2/service/kms":   {"pipeline/signing", "servicetest"},
	"github.com/aws/aws-sdk-go-v2/service/sqs":   {"pipeline/queue"},

	"github.com/aws/aws-sdk-go-v2/service/eventbridge": {"pipeline/bus"},
	"github.com/aws/aws-sdk-go-v2/service/dynamodb":    {"table", "store/storetest", "boot", "guard"},
}

// TestImportsRunOneWay reads the imports of every file that is not a test. An allowed import that
// no file has is a fault too, so that the lists show the real imports.
func TestImportsRunOneWay(t *testing.T) {
	used := map[string]map[string]bool{}
	for file, imports := range importsOf(t, ".", goFile) {
		pkg := filepath.ToSlash(filepath.Dir(file))
		allowed, known := mayImport[pkg]
		if !known {
			t.Errorf("%s: package %s is not in the list of pkg/arch_test.go", file, pkg)
		}
		if used[pkg] == nil {
			used[pkg] = map[string]bool{}
		}
		for _, imported := range imports {
			if own, ok := strings.CutPrefix(imported, "latchkey/pkg/"); ok {
				used[pkg][own] = true
				if !slices.Contains(allowed, own) {
					t.Errorf("%s imports %s: %s may not", file, imported, pkg)
				}
			}
			for outside, allowed := range onlyIn {
				if imported != outside && !strings.HasPrefix(imported, outside+"/") {
					continue
				}
				used[pkg][outside] = true
				if !slices.Contains(allowed, pkg) {
					t.Errorf("%s imports %s: only %v may", file, imported, allowed)
				}
			}
		}
	}
	for pkg, allowed := range mayImport {
		if used[pkg] == nil {
			t.Errorf("there is no package %s", pkg)
		}
		for _, own := range allowed {
			if !used[pkg][own] {
				t.Errorf("%s may import %s, but does not", pkg, own)
			}
		}
	}
	for outside, allowed := range onlyIn {
		for _, pkg := range allowed {
			if !used[pkg][outside] {
				t.Errorf("%s may import %s, but does not", pkg, outside)
			}
		}
	}
}

// TestPkgImportsNoOtherFolder reads the imports of every file, tests included.
func TestPkgImportsNoOtherFolder(t *testing.T) {
	all := func(name string) bool { return strings.HasSuffix(name, ".go") }
	for file, imports := range importsOf(t, ".", all) {
		for _, imported := range imports {
			if strings.HasPrefix(imported, "latchkey/infra") || strings.HasPrefix(imported, "latchkey/functions") {
				t.Errorf("%s imports %s", file, imported)
			}
		}
	}
}

// TestTheLabImportsNoProductCode: the lab and the readers of a template may import only each other and infra/tools, and no other
// package of the repository.
func TestTheLabImportsNoProductCode(t *testing.T) {
	own := 0
	generic := []string{"latchkey/infra/harness/lab", "latchkey/infra/template/translated", "latchkey/infra/template/iam", "latchkey/infra/tools"}
	for _, root := range []string{"../infra/harness/lab", "../infra/template/translated", "../infra/template/iam"} {
		files := importsOf(t, root, goFile)
		if len(files) < 3 { // the walk found too little, so the test would prove nothing
			t.Fatalf("%s: %d files were read", root, len(files))
		}
		for file, imports := range files {
			for _, imported := range imports {
				if !strings.HasPrefix(imported, module+"/") {
					continue
				}
				own++
				if !slices.ContainsFunc(generic, func(one string) bool { return imported == one || strings.HasPrefix(imported, one+"/") }) {
					t.Errorf("%s: %s imports %s", root, file, imported)
				}
			}
		}
	}
	if own == 0 { // no import was compared, so the test would prove nothing
		t.Error("the lab imports no package of the repository")
	}
}

// TestAFunctionIsWiring: each function is one file. It imports no other module of GitHub and no package of infra.
func TestAFunctionIsWiring(t *testing.T) {
	files := importsOf(t, "../functions", goFile)
	if len(files) < 2 { // the walk found no functions, so the test would prove nothing
		t.Fatalf("%d functions were read", len(files))
	}
	for file, imports := range files {
		if filepath.Base(file) != "main.go" {
			t.Errorf("%s: a function has only its main.go", file)
		}
		for _, imported := range imports {
			if imported == "latchkey/infra" && file == filepath.Join("webhookkeys", "main.go") {
				continue // webhookkeys serves openapi.yaml, which this package embeds
			}
			isForeign := strings.HasPrefix(imported, "github.com/") && !strings.HasPrefix(imported, module+"/")
			if isForeign || strings.HasPrefix(imported, "latchkey/infra") {
				t.Errorf("%s imports %s: a function is wiring", file, imported)
			}
		}
	}
}

// goFile reports whether a file is Go code and not a test.
func goFile(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// importsOf returns the imports of each file below root that wanted accepts, by the file's path relative to root.
func importsOf(t *testing.T, root string, wanted func(name string) bool) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !wanted(path) || strings.HasPrefix(d.Name(), ".") { // Emacs marks an unsaved file by a hidden link
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		out[rel] = []string{} // so that the result also has a file without imports
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			out[rel] = append(out[rel], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
