package stack

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"latchkey/infra/template/iam"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// repository returns template.yaml, translated once for all tests.
var repository = sync.OnceValues(func() (*translated.Template, error) {
	root, err := tools.Root()
	if err != nil {
		return nil, err
	}
	return translated.Translate(context.Background(), filepath.Join(root, "template.yaml"), options())
})

func options() translated.Options {
	return translated.Options{StackName: StackName, Parameters: map[string]string{"Issuer": "https://issuer.example"}}
}

// template returns the repository's template. replace has pairs of old and new text, to be replaced in its JSON.
func template(t *testing.T, replace ...string) *translated.Template {
	t.Helper()
	tpl, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(tpl.Raw); err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(replace...).Replace(text.String())
	if len(replace) > 0 && changed == text.String() {
		t.Fatalf("the template has none of %q", replace)
	}
	copied := *tpl // other tests use tpl, so only the copy gets the changed JSON
	if copied.Raw = nil; json.Unmarshal([]byte(changed), &copied.Raw) != nil {
		t.Fatalf("%q makes no JSON", replace)
	}
	out, err := copied.Resolve(options())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAPolicyThatIsNotUnderstoodStopsTheStart plants parts of policies that the evaluator does not know.
func TestAPolicyThatIsNotUnderstoodStopsTheStart(t *testing.T) {
	for fault, replace := range map[string][2]string{ // the unknown part, and the texts for template
		"an operator":         {`"ForAnyValue:StringEquals"`, `"ForAnyValue:StringEqualsIgnoreCase"`},
		"a key":               {`"dynamodb:EnclosingOperation"`, `"dynamodb:Select"`},
		"a read's attributes": {`"Null":{"dynamodb:LeadingKeys":"false"}`, `"Null":{"dynamodb:Attributes":"false"}`},
		"a deny":              {`"Effect":"Allow","Resource"`, `"Effect":"Deny","Resource"`},
		"a NotAction":         {`"Action":["dynamodb:Query"]`, `"NotAction":["dynamodb:Query"]`},
		"a managed policy":    {`"Policies":[{`, `"ManagedPolicyArns":["arn:aws:iam::aws:policy/x"],"Policies":[{`},
	} {
		if _, err := iam.New(template(t, replace[0], replace[1])); err == nil {
			t.Errorf("%s is taken", fault)
		}
	}
	if _, err := iam.New(template(t)); err != nil {
		t.Error(err)
	}
}

// TestLambdaItselfNeedsItsRights replaces, one at a time, rights that only Lambda uses: for logs, streams and queues.
func TestLambdaItselfNeedsItsRights(t *testing.T) {
	for right, other := range map[string]string{
		`"logs:PutLogEvents"`: `"logs:CreateLogStream"`, `"dynamodb:GetShardIterator"`: `"dynamodb:GetRecords"`,
		`"sqs:DeleteMessage"`: `"sqs:SendMessage"`, `{"Fn::GetAtt":["FanoutDeadLetters","Arn"]},"Sid"`: `{"Fn::GetAtt":["DeliveryQueue","Arn"]},"Sid"`,
	} {
		tpl := template(t, right, other)
		a, err := iam.New(tpl)
		if err != nil {
			t.Fatal(err)
		}
		if a.Platform(tpl) == nil {
			t.Errorf("without %s everything is allowed", right)
		}
	}
	tpl := template(t)
	if a, err := iam.New(tpl); err != nil || a.Platform(tpl) != nil {
		t.Error(err, a.Platform(tpl))
	}
}

// TestRightsThatNoCallNeededAreSpare: Spare lists a statement until a call uses it, and then the actions of the statement
// that no call has used.
func TestRightsThatNoCallNeededAreSpare(t *testing.T) {
	a, err := iam.New(template(t))
	if err != nil {
		t.Fatal(err)
	}
	const statement = "WebhookKeysRole ReadVerificationKeys: no call needed this statement"
	if !slices.Contains(a.Spare(), statement) {
		t.Fatalf("%q is not spare", statement)
	}
	get := iam.Need{Action: "dynamodb:GetItem", Resource: "arn:aws:dynamodb:us-east-1:000000000000:table/Table", Context: map[string][]string{"dynamodb:LeadingKeys": {"VKEYS"}}}
	if err := a.Decide("WebhookKeysFunction", get); err != nil {
		t.Fatal(err)
	}
	spare := slices.DeleteFunc(a.Spare(), func(s string) bool { return !strings.HasPrefix(s, "WebhookKeysRole ReadVerificationKeys") })
	if want := []string{"WebhookKeysRole ReadVerificationKeys: dynamodb:Query"}; !slices.Equal(spare, want) {
		t.Errorf("spare: %q, want %q", spare, want)
	}
	// Another statement allows this GetItem: ReadAppsAndAccess allows only BatchGetItem on the same rows, and stays unused.
	if err := a.Decide("AppsFunction", iam.Need{Action: "dynamodb:GetItem", Resource: get.Resource, Context: map[string][]string{"dynamodb:LeadingKeys": {"ORG#1"}}}); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(a.Spare(), "AppsRole ReadAppsAndAccess: no call needed this statement") {
		t.Error("a statement counts as used by a call of another action")
	}
}
