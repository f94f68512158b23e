// Package pkg_test tests which package imports which, and that a function is only wiring. See
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

// mayImport has, for each package below pkg, the others that it may import. A new package needs a
// line here.
var mayImport = map[string][]string{
	"problem":     {},
	"secret":      {},
	"id":          {},
	"principal":   {"id"},
	"opaque":      {"secret"},
	"apikey":      {"id", "opaque", "secret"},
	"text":        {},
	"org":         {"id", "problem", "text"},
	"webhook":     {"id"},
	"link":        {"id", "opaque", "secret", "text"},
	"token":       {"problem", "token/jwks"},
	"token/jwks":  {"problem"},
	"signing":     {"problem"},
	"signing/kms": {"signing"},
	"store":       {"id", "opaque", "problem", "secret", "apikey", "org", "link", "signing", "webhook"},
	"env":         {},
	"verify":      {}, // receivers import it
	"authz":       {"apikey", "id", "org", "principal", "problem", "store", "token"},
	"route":       {"org", "principal"},
	"api":         {"id", "link", "org", "principal", "problem", "queue", "route", "secret", "signing", "store", "text", "webhook", "webhook/outbound"},
	"lambdahttp":  {"metric", "principal", "problem"},
	"lambdaevent": {"metric", "principal", "problem"},
	"metric":      {},
	"pipeline":    {"id", "metric", "problem", "queue", "signing", "store", "webhook", "webhook/outbound"},
	"queue":       {"id"},
	"queue/sqs":   {"queue"},

	"webhook/outbound": {},

	"store/storetest": {"env", "id", "org", "store"},
}

// onlyIn has the packages that may import a module from outside.
var onlyIn = map[string][]string{
	"github.com/aws/aws-sdk-go-v2":                  {"store", "signing/kms", "queue/sqs", "env", "store/storetest"},
	"github.com/aws/aws-lambda-go":                  {"lambdahttp", "lambdaevent"},
	"github.com/awslabs/aws-lambda-go-api-proxy":    {"lambdahttp"},
	"github.com/golang-jwt/jwt":                     {"token"},
	"github.com/aws/aws-sdk-go-v2/config":           {},
	"github.com/aws/aws-sdk-go-v2/service/kms":      {"signing/kms"},
	"github.com/aws/aws-sdk-go-v2/service/sqs":      {"queue/sqs"},
	"github.com/aws/aws-sdk-go-v2/service/dynamodb": {"store", "env", "store/storetest"},
}

// TestImportsRunOneWay reads the imports of every file that is not a test.
func TestImportsRunOneWay(t *testing.T) {
	seen := map[string]bool{}
	for file, imports := range importsOf(t, ".") {
		pkg := filepath.ToSlash(filepath.Dir(file))
		allowed, known := mayImport[pkg]
		if !known {
			t.Errorf("%s: package %s is not in the list of pkg/arch_test.go", file, pkg)
		}
		seen[pkg] = true
		for _, imported := range imports {
			if own, ok := strings.CutPrefix(imported, "latchkey/pkg/"); ok && !slices.Contains(allowed, own) {
				t.Errorf("%s imports %s: %s may not", file, imported, pkg)
			}
			if strings.HasPrefix(imported, "latchkey/infra") && pkg != "store/storetest" {
				t.Errorf("%s imports %s: pkg depends on no other folder", file, imported)
			}
			checkOutside(t, file, pkg, imported)
		}
	}
	for _, must := range []string{"api", "store", "authz", "lambdahttp"} {
		if !seen[must] {
			t.Errorf("package %s was not read: the test sees nothing", must)
		}
	}
}

func checkOutside(t *testing.T, file, pkg, imported string) {
	t.Helper()
	for outside, allowed := range onlyIn {
		if (imported == outside || strings.HasPrefix(imported, outside+"/")) && !slices.Contains(allowed, pkg) {
			t.Errorf("%s imports %s: only %v may", file, imported, allowed)
		}
	}
}

// TestAFunctionIsWiring: each function is one file of at most 40 lines of code that imports no SDK.
func TestAFunctionIsWiring(t *testing.T) {
	files := importsOf(t, "../functions")
	if len(files) < 2 {
		t.Fatalf("%d functions were read", len(files))
	}
	for file, imports := range files {
		if filepath.Base(file) != "main.go" {
			t.Errorf("%s: a function is its main.go and nothing else", file)
		}
		for _, imported := range imports {
			contract := imported == "latchkey/infra" && file == filepath.Join("webhookkeys", "main.go") // it serves openapi.yaml
			if strings.HasPrefix(imported, "github.com/") || strings.HasPrefix(imported, "latchkey/infra") && !contract {
				t.Errorf("%s imports %s: a function is wiring", file, imported)
			}
		}
	}
}

// importsOf returns the imports of every Go file below a folder but tests, by the file's path from
// there.
func importsOf(t *testing.T, root string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
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
		out[rel] = []string{}
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
