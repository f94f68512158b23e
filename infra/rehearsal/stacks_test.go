package rehearsal_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/lab/translated"
)

// parametersOf returns parameters that have the stack's name in every text.
func parametersOf(stack string) map[string]string {
	url, hash := "https://"+stack+".example", fmt.Sprintf("%x", sha256.Sum256([]byte(stack)))
	return map[string]string{
		"Issuer": url, "JwksUrl": url + "/keys", "UserinfoUrl": url + "/userinfo", "Audience": url, "ClientIds": stack, "EmailClaim": stack,
		"EmailVerifiedClaim": stack, "NameClaim": stack, "ConsoleOrigins": url, "KeyPrefix": stack, "MemberOrgParameter": stack,
		"OwnerOrgId": "org_" + hash[:26], "ForwardAuthSecret": hash[:40], "ForwardAuthOldSecret": hash[10:50],
	}
}

// optional returns parameters that switch on what is off by default: every condition changes.
func optional(stack string) map[string]string {
	return with(parametersOf(stack), map[string]string{
		"AlarmTopicArn": "arn:aws:sns:us-east-1:000000000000:" + stack, "ApiAccessLog": "true",
		"DomainName": stack + ".example", "CertificateArn": "arn:aws:acm:us-east-1:000000000000:certificate/" + stack, "DisableExecuteApi": "true",
		"WebAcl": "rate-limited", "WebhookIssuer": "https://" + stack + ".example/hooks", "AuthorizerConcurrency": "5",
		"TableKeyArn": "arn:aws:kms:us-east-1:000000000000:key/" + stack, "KeyTagNames": "team", "KeyTagValues": stack,
		"ForwardAuth": "true", "ConsumerOrganizationId": "o-" + stack,
	})
}

func with(of map[string]string, more map[string]string) map[string]string {
	out := maps.Clone(of)
	maps.Copy(out, more)
	return out
}

// resolved returns the template as the local stack evaluates it, with an output for each condition
// that holds.
func resolved(t *testing.T, parameters map[string]string) *translated.Template {
	t.Helper()
	tpl := *template(t)
	outputs := map[string]any{}
	conditions, _ := tpl.Raw["Conditions"].(map[string]any)
	for name := range conditions {
		outputs[name] = map[string]any{"Condition": name, "Value": "it holds"}
	}
	tpl.Raw = maps.Clone(tpl.Raw)
	tpl.Raw["Outputs"] = outputs
	out, err := tpl.Resolve(translated.Options{Parameters: parameters})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// there wants exactly the resources that follow from the parameters.
func there(t *testing.T, what string, got applied, parameters map[string]string) {
	t.Helper()
	if !strings.HasSuffix(got.Status, "_COMPLETE") || strings.Contains(got.Status, "ROLLBACK") {
		t.Errorf("%s: %s", what, got.Status)
	}
	want := slices.Sorted(maps.Keys(resolved(t, parameters).Resources))
	if have := slices.Sorted(maps.Keys(got.Resources)); !slices.Equal(have, want) {
		t.Errorf("%s: resources %v, want %v", what, have, want)
	}
}

// TestTwoStacksOfOneAccountShareNothing wants no common name or text, and neither stack to change
// when the other is changed or deleted.
func TestTwoStacksOfOneAccountShareNothing(t *testing.T) {
	a := newAccount(t)
	first, second := a.apply("first", optional("first")), a.apply("second", optional("second"))
	there(t, "first", first, optional("first"))
	there(t, "second", second, optional("second"))
	holds(t, "properties that moto does not read", second.Unread, unread)
	ids := map[string]string{}
	for stack, all := range map[string]applied{"first": first, "second": second} {
		for logical, r := range all.Resources {
			if other, taken := ids[r.ID]; taken && r.ID != "" {
				t.Errorf("%s is %s of %s and %s", r.ID, logical, stack, other)
			}
			ids[r.ID] = stack
		}
	}
	before := a.everything()
	apart(t, before, second)
	there(t, "second, plain", a.apply("second", parametersOf("second")), parametersOf("second"))
	there(t, "second, again", a.apply("second", optional("second")), optional("second"))
	unchangedBut(t, before, a.everything(), "second")
	a.delete("second")
	unchangedBut(t, before, a.everything(), "second")
}

// apart wants each resource to name exactly one of the stacks.
func apart(t *testing.T, all map[string]string, second applied) {
	t.Helper()
	var ofSecond []string
	for _, r := range second.Resources {
		if len(r.ID) > len("second") {
			ofSecond = append(ofSecond, r.ID)
		}
	}
	seen := map[bool]int{}
	for name, content := range all {
		text := name + content
		isSecond := strings.Contains(text, "second") || slices.ContainsFunc(ofSecond, func(id string) bool { return strings.Contains(text, id) })
		if isSecond == strings.Contains(text, "first") {
			t.Errorf("%s is of both stacks, or of none: %s", name, content)
		}
		seen[isSecond]++
	}
	if seen[true] < 40 || seen[false] < 40 {
		t.Errorf("the account has %v", seen)
	}
}

// unchangedBut wants each resource that does not name the other stack to be unchanged.
func unchangedBut(t *testing.T, before, after map[string]string, other string) {
	t.Helper()
	n := 0
	for name, content := range before {
		if strings.Contains(name+content, other) {
			continue
		}
		n++
		if now, ok := after[name]; !ok || now != content {
			t.Errorf("%s was changed from %s to %s", name, content, now)
		}
	}
	if n < 40 {
		t.Errorf("only %d were looked at", n)
	}
}

// TestEveryConditionCanBeSwitchedOnAndOff wants an update to do so without replacing a table or key.
func TestEveryConditionCanBeSwitchedOnAndOff(t *testing.T) {
	a := newAccount(t)
	own := "arn:aws:wafv2:us-east-1:000000000000:regional/webacl/own/1"
	plain := parametersOf("first")
	restored := "arn:aws:dynamodb:us-east-1:000000000000:table/restored/stream/2026-01-01T00:00:00.000"
	// The third step has the owner's firewall, both addresses and a restored table.
	third := map[string]string{"WebAclArn": own, "DisableExecuteApi": "false", "TableStreamArn": restored}
	steps := []map[string]string{plain, optional("first"), with(optional("first"), third), plain}
	seen := map[string][2]bool{}
	var kept [2]string
	for i, parameters := range steps {
		got := a.apply("first", parameters)
		there(t, "a step", got, parameters)
		names := [2]string{got.Resources["Table"].ID, got.Resources["SigningKey"].ID}
		if i > 0 && names != kept {
			t.Errorf("step %d: the table and the key are %q, and were %q", i, names, kept)
		}
		kept = names
		on := resolved(t, parameters).Outputs
		for name := range object(template(t).Raw["Conditions"]) {
			s := seen[name]
			s[0], s[1] = s[0] || on[name] != "", s[1] || on[name] == ""
			seen[name] = s
		}
		if i == len(steps)-1 {
			holds(t, "types that moto does not know", got.Unknown, unknown)
			holds(t, "types that moto cannot change", got.Unchanged, unchanged)
		}
	}
	for name, s := range seen {
		if !s[0] || !s[1] {
			t.Errorf("condition %s was never switched: %v", name, s)
		}
	}
	if len(seen) < 8 {
		t.Errorf("conditions: %v", seen)
	}
}

// TestADeletedStackLeavesItsTableAndItsFirstKey also wants a new stack of that name to have new ones.
func TestADeletedStackLeavesItsTableAndItsFirstKey(t *testing.T) {
	a := newAccount(t)
	made := a.apply("first", optional("first"))
	table, key := "table "+made.Resources["Table"].ID, "key "+made.Resources["SigningKey"].ID
	before := a.everything()
	holds(t, "types that moto cannot delete", a.delete("first"), undeleted)
	after := a.everything()
	if got := slices.Sorted(maps.Keys(after)); !slices.Equal(got, []string{key, table}) {
		t.Errorf("left: %q", got)
	}
	if tag := `{"TagKey": "latchkey:stack", "TagValue": "first"}`; after[key] != before[key] || !strings.Contains(after[key], tag) || !strings.Contains(after[key], "ECC_NIST_P256") {
		t.Errorf("the key is %s, and was %s", after[key], before[key])
	}
	again := a.apply("first", parametersOf("first"))
	if "table "+again.Resources["Table"].ID == table || "key "+again.Resources["SigningKey"].ID == key {
		t.Error("the new stack has the kept table or key")
	}
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// holds wants a list of moto's to equal the written one.
func holds(t *testing.T, what string, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		t.Errorf("%s: %s, and the list has %s", what, g, w)
	}
}
