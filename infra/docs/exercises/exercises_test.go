// Package exercises has the worked examples of infra/docs/design.md, "How to add", as patches. Its
// tests apply each patch to a copy of the repository and run the tests that the document names.
package exercises

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/tools"
	"latchkey/infra/tools/copied"
	"latchkey/pkg/servicetest"
)

// exercise is a patch, and the tests that fail when a part of the patch is missing.
type exercise struct {
	name  string            // of the patch, without .patch
	files int               // the number of changed files without tests. A patch has no generated files
	tests map[string]string // by package: names, with | between them
	env   []string          // for the tests
}

// exercises are tried in this order. The patch of the event leaves out the golden file of pkg/store: a new row changes the id of every
// later row, so the tests write the file with UPDATE_GOLDEN.
var exercises = []exercise{
	{"route", 5, map[string]string{
		"./pkg/api":                "TestRoleMatrix|TestTheMatrixFollowsTheContract|TestAnAppOfAnotherOrgIsNotFound|TestAPreflightAllowsTheMethodsOfItsPath|TestAServiceWithOneRightIsRefusedEverywhereElse|TestEachRouteOfASuspendedOrgIsOpenOrClosed",
		"./infra/harness/contract": "TestTheDocumentFollowsItsRules|TestMakeGenerateChangesNothing",
		"./infra/template":         "TestMakeGenerateChangesNothing|TestOnlyRoutesMayCallTheirFunctions",
		"./pkg":                    "TestImportsRunOneWay",
	}, nil},
	{"role", 7, map[string]string{
		"./pkg/api":                "TestRoleMatrix|TestTheMatrixFollowsTheContract|TestMembersCannotChangeOrRemoveThemselves",
		"./infra/harness/contract": "TestTheDocumentFollowsItsRules|TestMakeGenerateChangesNothing",
		"./infra/harness/examples": "TestPrincipalsFitTheirSchema",
	}, nil},
	{"event", 6, map[string]string{
		"./pkg/webhook":            "TestOnlyKnownFiltersAreValid",
		"./pkg/store":              "TestMemberAddedDescribesTheMembership|TestDatabaseCallsMatchTheGoldenFile",
		"./pkg/api":                "TestEveryTypeOfEventIsAsDocumented",
		"./infra/harness/contract": "TestTheDocumentFollowsItsRules|TestMakeGenerateChangesNothing|TestTokensHaveTheClaimsOfTheirWebhook",
		"./infra/template":         "TestRolesReachOnlyTheirPartitions|TestMakeGenerateChangesNothing",
		"./pkg":                    "TestImportsRunOneWay",
	}, []string{"UPDATE_GOLDEN=1"}},
}

// tree is a copy of the repository. Its folder is always the same, so that Go's build cache serves
// the next run.
type tree struct {
	root, dir string // of the repository; of the copy
	env       []string
}

func newTree(t *testing.T) tree {
	t.Helper()
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	c := tree{root: root, dir: filepath.Join(root, ".local", "exercises")}
	database, err := servicetest.DynamoDB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Stop() })
	// Without GIT_CEILING_DIRECTORIES git would find the repository above the copy, and skip the patch.
	c.env = append(os.Environ(), "LATCHKEY_DYNAMODB="+database.Endpoint, "GIT_CEILING_DIRECTORIES="+filepath.Dir(c.dir))
	return c
}

func (c tree) run(t *testing.T, env []string, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = c.dir, append(c.env, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// apply applies the patch of an exercise. With the flag -R it removes a part of the patch.
func (c tree) apply(t *testing.T, e exercise, flags ...string) {
	t.Helper()
	patch := filepath.Join("infra", "docs", "exercises", e.name+".patch")
	out, err := c.run(t, nil, "git", append(append([]string{"apply"}, flags...), patch)...)
	if err != nil {
		// To make the patch again: run git apply --3way, resolve the conflicts, and before make generate write
		// git diff HEAD, without pkg/store/testdata, to the patch. Then git checkout the tree.
		t.Fatalf("%s no longer applies. Apply it with git apply --3way, resolve the conflicts, and make it again with git diff HEAD:\n%s", patch, out)
	}
}

// test runs the tests of an exercise in some of its packages.
func (c tree) test(t *testing.T, e exercise, pkgs ...string) (string, error) {
	t.Helper()
	var names []string
	for _, pkg := range pkgs {
		names = append(names, e.tests[pkg])
	}
	// The harness is a module of its own.
	const harness = "./infra/harness/"
	modules := map[string][]string{}
	for _, pkg := range pkgs {
		if inHarness, ok := strings.CutPrefix(pkg, harness); ok {
			modules[harness] = append(modules[harness], "./"+inHarness)
		} else {
			modules["."] = append(modules["."], pkg)
		}
	}
	var all strings.Builder
	var failed error
	for module, pkgs := range modules {
		args := append([]string{"-C", module, "test", "-count=1", "-vet=off", "-v", "-run", "^(" + strings.Join(names, "|") + ")$"}, pkgs...)
		out, err := c.run(t, e.env, "go", args...)
		all.WriteString(out)
		failed = errors.Join(failed, err)
	}
	return all.String(), failed
}

func TestExercisesAreCompleteAndSmall(t *testing.T) {
	c := newTree(t)
	for _, e := range exercises {
		t.Run(e.name, func(t *testing.T) {
			text, err := os.ReadFile(e.name + ".patch")
			if err != nil {
				t.Fatal(err)
			}
			if n := productFiles(string(text)); n != e.files {
				t.Errorf("the patch changes %d files besides tests, want %d", n, e.files)
			}
			if err := copied.Tree(t.Context(), c.root, c.dir); err != nil {
				t.Fatal(err)
			}
			c.apply(t, e)
			if out, err := c.run(t, nil, "make", "generate"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			// This compiles every package but links no program, so it is much faster than go build ./...
			for _, module := range []string{".", "infra/harness"} {
				if out, err := c.run(t, nil, "go", "-C", module, "list", "-export", "-f", "{{with .Error}}{{.}}{{end}}", "./..."); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			out, err := c.test(t, e, slices.Sorted(maps.Keys(e.tests))...)
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			for pkg, names := range e.tests {
				for name := range strings.SplitSeq(names, "|") {
					if !strings.Contains(out, "=== RUN   "+name+"\n") {
						t.Errorf("%s has no %s", pkg, name)
					}
				}
			}
			if e.name == "event" {
				withoutTheRole(t, c, e)
			}
		})
	}
}

// productFiles returns the number of files in a patch that are not files of tests.
func productFiles(patch string) int {
	n := 0
	for line := range strings.Lines(patch) {
		if strings.HasPrefix(line, "diff --git ") && !strings.Contains(line, "_test.go") && !strings.Contains(line, "/testdata/") {
			n++
		}
	}
	return n
}

// withoutTheRole removes the part of the event's patch that changes the functions' rights. Then the function may not write the event,
// and a test of pkg/api must find this.
func withoutTheRole(t *testing.T, c tree, e exercise) {
	t.Helper()
	c.apply(t, e, "-R", "--include=infra/template/rights.txt")
	if out, err := c.run(t, nil, "make", "generate"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := c.test(t, e, "./pkg/api")
	const lacks = "a role of the template does not allow: MembersFunction dynamodb:"
	failed := err != nil && strings.Contains(out, "--- FAIL: TestEveryTypeOfEventIsAsDocumented")
	if !failed || !strings.Contains(out, lacks) || !strings.Contains(out, " EVTS ") {
		t.Errorf("without the change of the rights, want a failure with %q for the partition EVTS: %v\n%s", lacks, err, out)
	}
}
