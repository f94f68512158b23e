package template_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/template/translated"
)

func TestTwoStacksOfOneAccountShareNoName(t *testing.T) { assertNone(t, checkNames) }

func TestADeletedStackLeavesItsTableAndItsFirstKey(t *testing.T) { assertNone(t, checkRetained) }

func TestEveryConditionCanBeSwitchedOnAndOff(t *testing.T) { assertNone(t, checkConditions) }

// everything has parameters that switch on every option that is off by default.
var everything = map[string]string{
	"AlarmTopicArn": topicOfTests, "ApiAccessLog": "true", "DomainName": "api.example.com", "CertificateArn": "arn:aws:acm:us-east-1:000000000000:certificate/c",
	"DisableExecuteApi": "true", "WebAcl": "rate-limited", "WebhookIssuer": "https://api.example.com/hooks", "AuthorizerConcurrency": "5",
	"TableKeyArn": "arn:aws:kms:us-east-1:000000000000:key/k", "WarmThroughput": "40000,16000", "KeyTagNames": "team", "KeyTagValues": "payments", "ConsoleOrigins": "https://a.example", "ClientIds": "web",
	"ForwardAuth": "true", "EventBusName": "owner", "ForwardAuthSecret": strings.Repeat("s", 40), "ConsumerOrganizationId": organizationOfTests,
}

// othersNames are the properties that end in Name and do not name their own resource. A domain's name is
// a parameter, which the owner chooses.
var othersNames = []string{
	"AWS::ApiGateway::BasePathMapping.DomainName", "AWS::ApiGateway::DomainName.DomainName", "AWS::ApiGateway::Stage.StageName", "AWS::CloudWatch::Alarm.MetricName", "AWS::Events::Rule.EventBusName",
	"AWS::Lambda::EventInvokeConfig.FunctionName", "AWS::Lambda::EventSourceMapping.FunctionName", "AWS::Lambda::Permission.FunctionName",
}

// namesIn returns the names that a stack gives to its resources, by resource and property. CloudFormation names the other resources.
func namesIn(tpl *translated.Template, stack string) (map[string]string, error) {
	resolved, err := tpl.Resolve(translated.Options{StackName: stack, Parameters: with(everything, map[string]string{"Issuer": "https://issuer.example"})})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for logical, r := range resolved.Resources {
		for property, value := range r.Properties {
			if strings.HasSuffix(property, "Name") && !slices.Contains(othersNames, r.Type+"."+property) {
				out[logical+"."+property] = fmt.Sprint(value)
			}
		}
	}
	return out, nil
}

func checkNames(tpl *translated.Template) (faults []string) {
	first, errFirst := namesIn(tpl, "first")
	second, errSecond := namesIn(tpl, "second")
	if errFirst != nil || errSecond != nil {
		return []string{fmt.Sprint(errFirst, errSecond)}
	}
	for property, name := range first {
		if name == second[property] {
			faults = append(faults, fmt.Sprintf("two stacks have %s %s", property, name))
		}
	}
	if len(first) < 20 { // the template gives more
		faults = append(faults, fmt.Sprintf("only %d names: %v", len(first), first))
	}
	return faults
}

// checkRetained checks that a deleted stack leaves only the table and the first key. The template must not name these: a new stack
// with the same name could not make its own table and key.
func checkRetained(tpl *translated.Template) (faults []string) {
	want := []string{"SigningKey", "Table"}
	var got []string
	for name, r := range object(tpl.Raw["Resources"]) {
		if policy := object(r)["DeletionPolicy"]; policy != nil && policy != "Delete" {
			got = append(got, name)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		faults = append(faults, fmt.Sprintf("a deleted stack leaves %q", got))
	}
	names, err := namesIn(tpl, "first")
	if err != nil {
		return append(faults, err.Error())
	}
	for property := range names {
		if logical, _, _ := strings.Cut(property, "."); slices.Contains(want, logical) {
			faults = append(faults, "the stack names a resource that it leaves: "+property)
		}
	}
	return faults
}

// oneByOne lists parameters that switch as few conditions as possible, and the conditions that then differ from a stack with the
// defaults.
var oneByOne = []struct{ parameters, differ string }{
	{"", ""},
	{"KeyTagNames=team KeyTagValues=payments", "KeyTags"},
	{"TableStreamArn=arn:aws:dynamodb:us-east-1:000000000000:table/restored/stream/1", "Restored"},
	{"TableKeyArn=arn:aws:kms:us-east-1:000000000000:key/k", "OwnTableKey"},
	{"WarmThroughput=40000,16000", "Warm"},
	{"ApiAccessLog=true", "AccessLog"},
	{"DomainName=api.example.com CertificateArn=arn:aws:acm:us-east-1:000000000000:certificate/c", "OwnDomain"},
	{"DomainName=api.example.com CertificateArn=arn:aws:acm:us-east-1:000000000000:certificate/c DisableExecuteApi=true", "ExecuteApi OnlyOwnDomain OwnDomain"},
	{"DisableExecuteApi=true", ""}, // has no effect without a domain: nothing else would reach the API
	{"WebAcl=rate-limited", "Firewall RateLimited"},
	{"WebAclArn=arn:aws:wafv2:us-east-1:000000000000:regional/webacl/own/1", "Firewall"},
	{"WebAcl=rate-limited WebAclArn=arn:aws:wafv2:us-east-1:000000000000:regional/webacl/own/1", "Firewall"},
	{"AlarmTopicArn=" + topicOfTests, "Alarms"},
	{"AuthorizerConcurrency=5", "ReserveForAuthorizer"},
	{"WebhookIssuer=https://api.example.com/hooks", "OwnIssuer"},
	{"ForwardAuth=true", "ForwardAuthOn"},
	{"EventBusName=owner", "Tap"},
	{"EventBusName=owner AlarmTopicArn=" + topicOfTests, "Alarms Tap TapAlarms"},
	{"ConsumerOrganizationId=" + organizationOfTests, "OtherAccounts"},
	{"ClientIds=web", "AnyClient"},
}

// checkConditions resolves the stack with each line of oneByOne, and with everything on. Only the conditions that the line names
// may differ. References must lead to existing resources, and the table and the first key must stay the same: CloudFormation would
// replace a changed one by a new one.
func checkConditions(tpl *translated.Template) (faults []string) {
	conditions := object(tpl.Raw["Conditions"])
	probe := *tpl
	probe.Raw = maps.Clone(tpl.Raw)
	// An output for each condition shows whether the condition is true.
	outputs := maps.Clone(object(tpl.Raw["Outputs"]))
	for name := range conditions {
		outputs["If"+name] = map[string]any{"Condition": name, "Value": "true"}
	}
	probe.Raw["Outputs"] = outputs
	tablesAndKeys, differing := map[string]bool{}, map[string]bool{}
	on := map[string]bool{"AnyClient": true, "ExecuteApi": true} // with the defaults
	resolve := func(parameters map[string]string) (differ []string) {
		form, err := probe.Resolve(translated.Options{Parameters: with(parameters, map[string]string{"Issuer": "https://issuer.example"})})
		if err != nil {
			return []string{err.Error()}
		}
		for name := range conditions {
			if _, isOn := form.Outputs["If"+name]; isOn != on[name] {
				differ, differing[name] = append(differ, name), true
			}
		}
		table := maps.Clone(form.Resources["Table"].Properties)
		index := maps.Clone(object(list(table["GlobalSecondaryIndexes"])[0]))
		table["GlobalSecondaryIndexes"] = []any{index}
		for _, name := range []string{"SSESpecification", "WarmThroughput"} { // CloudFormation changes these without a replacement
			delete(table, name)
			delete(index, name)
		}
		tablesAndKeys[asJSON(table)+asJSON(form.Resources["SigningKey"].Properties)] = true
		slices.Sort(differ)
		return differ
	}
	for _, s := range oneByOne {
		parameters := map[string]string{}
		for _, pair := range strings.Fields(s.parameters) {
			name, value, _ := strings.Cut(pair, "=")
			parameters[name] = value
		}
		if differ := strings.Join(resolve(parameters), " "); differ != s.differ {
			faults = append(faults, fmt.Sprintf("with %s these conditions differ: %s; want: %s", s.parameters, differ, s.differ))
		}
	}
	if differ := resolve(everything); len(differ) != len(conditions)-1 { // all but Restored
		faults = append(faults, fmt.Sprintf("with everything these conditions differ: %q", differ))
	}
	if len(differing) != len(conditions) || len(tablesAndKeys) != 1 {
		faults = append(faults, fmt.Sprintf("the table and the key are %v; %d of %d conditions are switched", slices.Collect(maps.Keys(tablesAndKeys)), len(differing), len(conditions)))
	}
	return faults
}

// with returns the parameters of both maps. more wins.
func with(of, more map[string]string) map[string]string {
	out := maps.Clone(of)
	maps.Copy(out, more)
	return out
}
