// Package template_test checks template.yaml. It reads the document that CloudFormation would get, with SAM's defaults.
//
// A check returns the faults of a template. Its test expects none. TestMutantsOfTheTemplateAreFound changes the template at random,
// and expects faults.
package template_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// check returns the faults of a template, one a line.
type check func(*translated.Template) []string

// options returns the options of a deployment: the parameter without a default, and parameters that switch on the
// alarms, the function URL, the tap, and the use of the shared authorizers by other accounts.
func options() translated.Options {
	return translated.Options{StackName: stackOfTests, Parameters: map[string]string{
		"Issuer": "https://issuer.example", "AlarmTopicArn": topicOfTests, "ForwardAuth": "true", "ConsumerOrganizationId": organizationOfTests, "EventBusName": "owner",
	}}
}

const stackOfTests = "latchkey"

const organizationOfTests = "o-0123456789"

const topicOfTests = "arn:aws:sns:us-east-1:000000000000:operators"

var deployed = sync.OnceValues(func() (*translated.Template, error) {
	if path := os.Getenv(mutantVariable); path != "" {
		return readMutant(path)
	}
	root, err := tools.Root()
	if err != nil {
		return nil, err
	}
	return translated.Translate(context.Background(), filepath.Join(root, "template.yaml"), options())
})

// template returns the repository's template, or the mutant that mutantVariable names.
func template(t *testing.T) *translated.Template {
	t.Helper()
	tpl, err := deployed()
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

// assertNone checks that the checks find no fault in the template.
func assertNone(t *testing.T, checks ...check) {
	t.Helper()
	tpl := template(t)
	for _, c := range checks {
		for _, fault := range c(tpl) {
			t.Error(fault)
		}
	}
}

// text returns a value as JSON with sorted names and without escapes.
func text(t *testing.T, v any) string {
	t.Helper()
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// Short names, because nearly every check walks through the document.
var (
	object = translated.Object
	list   = translated.List
	words  = translated.Words
)
