package template_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"latchkey/infra/template/iam"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
	"latchkey/infra/tools/parts"
)

// mutantVariable names a file: the template that the tests read in place of the repository's.
const mutantVariable = "LATCHKEY_TEMPLATE_MUTANT"

// mutantsInShort is the number of mutants that `make test` tries. `make mutants` tries MUTANTS=300. SEED=… chooses other mutants.
const mutantsInShort = 40

// TestMutantsOfTheTemplateAreFound changes template.yaml at random places that are written by hand, one at a time. The
// tests of this package, or the evaluator of roles, must find 95 % of these mutants.
func TestMutantsOfTheTemplateAreFound(t *testing.T) {
	count, seed := number(t, "MUTANTS", mutantsInShort), number(t, "SEED", 1)
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGenerator(text)
	if err != nil {
		t.Fatal(err)
	}
	translate := translator(t, root)
	// The same steps as for a mutant, without a change, must give the same template.
	if unchanged, err := translate(plain(&g.document)); err != nil || !sameDocument(unchanged, template(t)) {
		t.Fatalf("the translation of the unchanged template differs: %v", err)
	}
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	equal, missed := 0, 0
	for tried := 0; tried < count; {
		mutant, change := g.draw(random)
		raw, err := translate(mutant)
		if err == nil && sameDocument(raw, template(t)) { // no test can find this mutant
			equal++
			continue
		}
		tried++
		if err == nil && !found(t, raw) {
			missed++
			t.Logf("not found: %s", change)
		}
	}
	t.Logf("seed %d: %d mutants, %d found; %d others change nothing", seed, count, count-missed, equal)
	if missed*20 > count { // more than 5 %
		t.Errorf("%d of %d mutants are not found", missed, count)
	}
}

// sameDocument reports whether CloudFormation gets the same document from two templates.
func sameDocument(a, b *translated.Template) bool {
	return asJSON(a.Raw) == asJSON(b.Raw) && asJSON(a.Code) == asJSON(b.Code)
}

// number returns the number in an environment variable; the number otherwise if the variable is not set.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// translator returns a function that translates a template, given as JSON in one line, without resolving it. One
// process of Python serves all calls, because loading SAM's translator takes long.
func translator(t *testing.T, root string) func(string) (*translated.Template, error) {
	t.Helper()
	python, err := parts.Python(t.Context(), nil)
	many, errMany := os.ReadFile("testdata/translate_many.py")
	one, errOne := os.ReadFile(filepath.Join(root, "infra", "template", "translated", "translate.py"))
	if err := errors.Join(err, errMany, errOne); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", string(many), string(one), asJSON(options().Parameters))
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(in.Close(), cmd.Wait()) })
	lines := bufio.NewReader(out)
	return func(document string) (*translated.Template, error) {
		if _, err := io.WriteString(in, document+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		return decodeMutant(line)
	}
}

// decodeMutant reads a line of the translator's output.
func decodeMutant(line []byte) (*translated.Template, error) {
	var answer struct {
		Template map[string]any
		Code     map[string]string
		Error    string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return &translated.Template{Raw: answer.Template, Code: answer.Code}, nil
}

// readMutant reads the file that found writes.
func readMutant(path string) (*translated.Template, error) {
	line, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	tpl, err := decodeMutant(line)
	if err != nil {
		return nil, err
	}
	return tpl.Resolve(options())
}

// found reports whether a check or a test finds a mutant. The checks run first, in this process, because they are fast. The tests
// run in a new process.
func found(t *testing.T, mutant *translated.Template) bool {
	t.Helper()
	tpl, err := mutant.Resolve(options())
	if err != nil {
		return true // a reference names a missing resource
	}
	for _, c := range allChecks {
		if len(c(tpl)) > 0 {
			return true
		}
	}
	roles, err := iam.New(tpl)
	if err != nil || roles.Platform(tpl) != nil { // the local stack would not start
		return true
	}
	path := filepath.Join(t.TempDir(), "mutant.json")
	if err := os.WriteFile(path, []byte(`{"template":`+asJSON(mutant.Raw)+`,"code":`+asJSON(mutant.Code)+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.failfast", "-test.skip", "^TestMutantsOfTheTemplateAreFound$")
	cmd.Env = append(os.Environ(), mutantVariable+"="+path)
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return failed != nil // the tests failed
}

// allChecks are the checks of this package. A check that is not listed runs only in the other process, which is slower.
var allChecks = []check{
	checkAlarmActions, checkDashboard, checkAtWill, checkLatency, checkDoors, checkDurability, checkTableLiterals, checkIndex, checkEnvironments, checkSigningKey,
	checkSchedules, checkNoEcho, checkRestored, checkRoles, checkLogs, checkStatements, checkPartitions, checkTransactions, checkKMSRights,
	checkPublicRoutes, checkSchemes, checkUncached, checkNames, checkRetained, checkConditions, checkPermissions, checkThrottles,
	checkDefaults, checkParametersRead, checkBudgets, checkSwitches, checkRetention, checkLevels, checkSecrets, checkVariableNames,
	checkSettings, checkFunctionProperties, checkTypes, checkSources, checkServers,
}
