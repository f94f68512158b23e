package rehearsal_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestParliamentFindsNothingInTheRoles wants exactly the findings that are listed with a reason.
func TestParliamentFindsNothingInTheRoles(t *testing.T) {
	a := newAccount(t)
	found := map[string]bool{}
	for _, parameters := range []map[string]string{parametersOf("first"), optional("first")} {
		tpl := resolved(t, parameters)
		policies := map[string]any{}
		for _, role := range tpl.Named("AWS::IAM::Role") {
			inline, _ := tpl.Resources[role].Properties["Policies"].([]any)
			if len(inline) != 1 {
				t.Fatalf("%s has %d policies", role, len(inline))
			}
			policies[role] = object(inline[0])["PolicyDocument"]
		}
		for _, shared := range tpl.Named("AWS::IAM::ManagedPolicy") {
			policies[shared] = tpl.Resources[shared].Properties["PolicyDocument"]
		}
		if len(policies) < 10 {
			t.Fatalf("only %d roles", len(policies))
		}
		var findings []string
		a.call(&findings, map[string]any{"do": "policies", "policies": policies})
		for _, f := range findings {
			found[f] = true
			if listed[f] == "" {
				t.Error(f)
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(listed)) {
		if !found[f] {
			t.Errorf("listed, and not found any more: %s", f)
		}
	}
}

// TestParliamentSeesAWrongPolicy shows that parliament works here.
func TestParliamentSeesAWrongPolicy(t *testing.T) {
	for word, statement := range map[string]map[string]any{
		"UNKNOWN_ACTION":    {"Effect": "Allow", "Action": "dynamodb:GetItems", "Resource": "*"},
		"RESOURCE_MISMATCH": {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "arn:aws:dynamodb:us-east-1:000000000000:table/t"},
	} {
		var findings []string
		newAccount(t).call(&findings, map[string]any{"do": "policies", "policies": map[string]any{
			"Role": map[string]any{"Version": "2012-10-17", "Statement": []any{statement}},
		}})
		if !slices.ContainsFunc(findings, func(f string) bool { return strings.Contains(f, word) }) {
			t.Errorf("%s: %v", word, findings)
		}
	}
}
