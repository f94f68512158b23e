package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"latchkey/infra/deploy/settings"
	"latchkey/infra/deploy/standin"
)

const canary = "canary0123456789canary0123456789"

// withProperties returns the small template with these properties of the table.
func withProperties(t *testing.T, properties string) string {
	return strings.Replace(smallTemplate(t), "DeletionPolicy: Retain\n", "DeletionPolicy: Retain\n    Properties: { "+properties+" }\n", 1)
}

// TestNoSecretIsShownInAChange puts a secret into an environment and into other properties: as the deployed value, and as the new one.
func TestNoSecretIsShownInAChange(t *testing.T) {
	const other = "canary1123456789canary1123456789"
	r := newRig(t).withSAM()
	r.write("built/template.yaml", withProperties(t, "Environment: { Variables: { SECRET: !Ref ForwardAuthSecret, LITERAL: "+canary+" } }, Kept: !Ref ForwardAuthSecret, Part: !Sub 'one ${ForwardAuthSecret}', List: [!Ref ForwardAuthSecret], Days: !Ref LogRetentionDays, Gone: { A: b, Environment: { SECRET: "+canary+" } }, Open: one"))
	out, err := r.deploy(append(first, "PARAMETERS=ForwardAuth=true ForwardAuthSecret="+canary)...)
	succeeded(t, out, err)
	r.write("built/template.yaml", withProperties(t, "Environment: { Variables: { LITERAL: "+canary+" } }, Nested: { A: b, Environment: { Variables: { SECRET: !Ref ForwardAuthSecret } } }, Kept: !Ref ForwardAuthSecret, Part: !Sub 'two ${ForwardAuthSecret}', List: [!Ref ForwardAuthSecret, a], Days: !Sub '${LogRetentionDays} days', Gone: { A: c }, Open: two"))
	hidden := []string{"Environment: (not shown) -> (not shown)", "Part: (not shown) -> (not shown)", "List: (not shown) -> (not shown)", "Days: 30 -> 30 days", `Gone: {"A":"b","Environment":(not shown) -> {"A":"c"}`, "Open: one -> two"}
	for given, shown := range map[string][]string{"": hidden, "PARAMETERS=ForwardAuthSecret=" + other: append(hidden, "Kept: (not shown) -> (not shown)")} {
		out, err := r.deploy("DRY=1", given)
		succeeded(t, out, err)
		has(t, given, out, shown...)
		if strings.Contains(out, canary) || strings.Contains(out, other) {
			t.Errorf("the secret is shown:\n%s", out)
		}
	}
	out, err = r.deploy("DRY=templates")
	succeeded(t, out, err)
	has(t, "the comparison", out, "Table.Properties.Open")
	if strings.Contains(out, canary) {
		t.Errorf("the secret is shown:\n%s", out)
	}
}

// TestEachPropertyIsShownOnce tries change sets as AWS returned them, and two parameters in one property.
func TestEachPropertyIsShownOnce(t *testing.T) {
	t.Parallel()
	entry := func(cause, path, before, after string) string { // "" is the same as a missing member
		const form = `{"CausingEntity":%q,"Target":{"Attribute":"Properties","Name":"A","Path":%q,"BeforeValue":%q,"AfterValue":%q}}`
		return fmt.Sprintf(form, cause, path, before, after)
	}
	const tags = `{"Target":{"Attribute":"Tags"}}`
	for name, c := range map[string]struct {
		details []string // as JSON
		shown   string
	}{
		"two causes":       {[]string{entry("Size", "/Properties/A", "1", "2"), entry("", "/Properties/A", "1", "2")}, "Properties.A: 1 -> 2"},
		"no values":        {[]string{entry("", "", "", ""), entry("", "", "", "")}, "Properties.A:  -> "},
		"one has values":   {[]string{entry("", "", "", ""), entry("", "", "1", "2")}, "Properties.A: 1 -> 2"},
		"known for one":    {[]string{entry("", "", "1", notKnown), entry("", "", "1", "2")}, "Properties.A: 1 -> 2"},
		"known first":      {[]string{entry("", "", "1", "2"), entry("", "", "", notKnown)}, "Properties.A: 1 -> 2"},
		"known for none":   {[]string{entry("Topic.Name", "", "1", notKnown), entry("", "", "1", notKnown)}, "Properties.A: 1 -> (known after the deployment)"},
		"tags and parts":   {[]string{entry("", "/Properties/A/0/B", "1", "2"), tags, tags}, "Properties.A.0.B: 1 -> 2\n  Tags:  -> "},
		"environment part": {[]string{entry("", "/Properties/Environment/Variables/A", "1", "2")}, "Properties.Environment.Variables.A: (not shown) -> (not shown)"},
		"metadata": {[]string{
			`{"Target":{"Attribute":"Metadata","Path":"/hello","BeforeValue":"1","AfterValue":"2"}}`,
			`{"Target":{"Attribute":"Metadata","Path":"/","AfterValue":"{}"}}`,
		}, "Metadata.hello: 1 -> 2\n  Metadata:  -> {}"},
	} {
		var out strings.Builder
		p := &program{Settings: settings.Settings{Stack: "s"}, root: t.TempDir(), out: &out}
		(&rig{t: t, root: p.root}).write(".local/deploy/s/template.yaml", "Resources: { R: { Type: T } }")
		all := []change{{Action: "Modify", LogicalResourceID: "R", ResourceType: "T"}}
		if err := json.Unmarshal([]byte("["+strings.Join(c.details, ",")+"]"), &all[0].Details); err != nil {
			t.Fatal(err)
		}
		p.show(all)
		if want := "Modify R (T)\n  " + c.shown + "\n"; out.String() != want {
			t.Errorf("%s: %q, want %q", name, out.String(), want)
		}
	}
}

// TestADeploymentShowsDependentsOfAReplacedResource also checks that a resource that is kept instead of deleted is shown.
func TestADeploymentShowsDependentsOfAReplacedResource(t *testing.T) {
	r := newRig(t).withSAM()
	described := func(text string) string {
		return strings.Replace(text, "Architectures: [!Ref Architecture] }", "Architectures: [!Ref Architecture], Description: !GetAtt Table.Arn }", 1)
	}
	r.write("built/template.yaml", described(smallTemplate(t)))
	out, err := r.deploy(first...)
	succeeded(t, out, err)
	r.write("built/template.yaml", described(withProperties(t, "TableName: other")))
	out, err = r.deploy("YES=1", "REPLACE=Table")
	succeeded(t, out, err)
	has(t, "the change", out, "Modify Table (AWS::DynamoDB::Table), which is REPLACED", "Properties.Description: latchkey-Table-1 -> (known after the deployment)", "DELETE_SKIPPED Table")
	if n := strings.Count(out, "  Properties.Description: "); n != 1 {
		t.Errorf("the property is shown %d times:\n%s", n, out)
	}
}

// TestAFailedRollbackNamesTheNextStep lets a deployment fail with Lambda's error for a too large environment. The rollback fails too.
func TestAFailedRollbackNamesTheNextStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ status, next string }{
		"the first":   {"ROLLBACK_FAILED", "make undeploy STACK=latchkey"},
		"a later one": {"UPDATE_ROLLBACK_FAILED", "continue-update-rollback --stack-name latchkey"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).withSAM()
			if name == "a later one" {
				out, err := r.deploy(first...)
				succeeded(t, out, err)
				r.write("built/template.yaml", withProperties(t, "BillingMode: PROVISIONED"))
			}
			r.aws.Set(standin.Faults{Execution: `exceeded the 4KB limit. String measured: {"SECRET":"` + canary + `"}`, Undoing: "it has other users"})
			out, err := r.deploy(first...)
			refused(t, err, c.status, c.next, "String measured: (not shown)")
			if strings.Contains(out+err.Error(), canary) {
				t.Errorf("the secret is shown: %v\n%s", err, out)
			}
		})
	}
}
