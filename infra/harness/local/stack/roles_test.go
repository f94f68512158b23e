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

// template returns the repository's template. replace has pairs of an old and a new text for the template's JSON.
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
		t.Fatalf("with %q the template is not JSON", replace)
	}
	out, err := copied.Resolve(options())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUnknownPartsOfPoliciesAreErrors puts parts into policies that the evaluator does not know.
func TestUnknownPartsOfPoliciesAreErrors(t *testing.T) {
	for fault, replace := range map[string][2]string{ // by the unknown part, the texts for template
		"an operator":         {`"ForAnyValue:StringEquals"`, `"ForAnyValue:StringEqualsIgnoreCase"`},
		"a key":               {`"dynamodb:EnclosingOperation"`, `"dynamodb:Select"`},
		"a read's attributes": {`"Null":{"dynamodb:LeadingKeys":"false"}`, `"Null":{"dynamodb:Attributes":"false"}`},
		"a deny":              {`"Effect":"Allow","Resource"`, `"Effect":"Deny","Resource"`},
		"a NotAction":         {`"Action":["dynamodb:Query"]`, `"NotAction":["dynamodb:Query"]`},
		"a managed policy":    {`"Policies":[{`, `"ManagedPolicyArns":["arn:aws:iam::aws:policy/x"],"Policies":[{`},
	} {
		if _, err := iam.New(template(t, replace[0], replace[1])); err == nil {
			t.Errorf("%s is accepted", fault)
		}
	}
	if _, err := iam.New(template(t)); err != nil {
		t.Error(err)
	}
}

// TestMissingRightsOfLambdaAreFound replaces rights that only Lambda itself uses (for logs, streams and queues), one at a time.
func TestMissingRightsOfLambdaAreFound(t *testing.T) {
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
			t.Errorf("Platform returned no error without %s", right)
		}
	}
	tpl := template(t)
	if a, err := iam.New(tpl); err != nil || a.Platform(tpl) != nil {
		t.Error(err, a.Platform(tpl))
	}
}

// TestSpareListsUnusedRights checks that Spare lists a statement until a call uses it, and then the unused actions of the
// statement.
func TestSpareListsUnusedRights(t *testing.T) {
	a, err := iam.New(template(t))
	if err != nil {
		t.Fatal(err)
	}
	const statement = "WebhookKeysRole ReadVerificationKeys: no call needed this statement"
	if !slices.Contains(a.Spare(), statement) {
		t.Fatalf("Spare does not list %q", statement)
	}
	get := iam.Need{Action: "dynamodb:GetItem", Resource: "arn:aws:dynamodb:us-east-1:000000000000:table/Table", Context: map[string][]string{"dynamodb:LeadingKeys": {"VKEYS"}}}
	if err := a.Decide("WebhookKeysFunction", get); err != nil {
		t.Fatal(err)
	}
	spare := slices.DeleteFunc(a.Spare(), func(s string) bool { return !strings.HasPrefix(s, "WebhookKeysRole ReadVerificationKeys") })
	if want := []string{"WebhookKeysRole ReadVerificationKeys: dynamodb:Query"}; !slices.Equal(spare, want) {
		t.Errorf("spare: %q, want %q", spare, want)
	}
	// Another statement allows this GetItem. ReadAppsAndAccess allows only BatchGetItem on the same rows, so it stays unused.
	if err := a.Decide("AppsFunction", iam.Need{Action: "dynamodb:GetItem", Resource: get.Resource, Context: map[string][]string{"dynamodb:LeadingKeys": {"ORG#1"}}}); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(a.Spare(), "AppsRole ReadAppsAndAccess: no call needed this statement") {
		t.Error("a call of another action made a statement count as used")
	}
}
