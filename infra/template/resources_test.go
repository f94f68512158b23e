package template_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

func TestTheTableKeepsItsRows(t *testing.T) { assertNone(t, checkDurability) }

func TestTheTablesPropertiesAreLiterals(t *testing.T) { assertNone(t, checkTableLiterals) }

func TestTheIndexHoldsOnlyKeysTheOrgAndTheApp(t *testing.T) { assertNone(t, checkIndex) }

func TestFunctionsGetOnlyTheVariablesTheyRead(t *testing.T) { assertNone(t, checkEnvironments) }

func TestADeletedStackKeepsItsFirstSigningKey(t *testing.T) { assertNone(t, checkSigningKey) }

func TestSchedulesHaveTheirIntervals(t *testing.T) { assertNone(t, checkSchedules) }

func checkDurability(tpl *translated.Template) (faults []string) {
	raw := object(object(tpl.Raw["Resources"])["Table"])
	if raw["DeletionPolicy"] != "Retain" || raw["UpdateReplacePolicy"] != "Retain" {
		faults = append(faults, "the table is deleted with the stack")
	}
	p := tpl.Resources["Table"].Properties
	const keys = `[{"AttributeName":"PK","KeyType":"HASH"},{"AttributeName":"SK","KeyType":"RANGE"}]` // with other keys, CloudFormation would make a new, empty table
	if got := asJSON(p["KeySchema"]); got != keys {
		faults = append(faults, "the table has the keys "+got)
	}
	for name, wanted := range map[string]any{
		"BillingMode": "PAY_PER_REQUEST", "DeletionProtectionEnabled": true,
		"PointInTimeRecoverySpecification": map[string]any{"PointInTimeRecoveryEnabled": true},
		"StreamSpecification":              map[string]any{"StreamViewType": "KEYS_ONLY"},
		"TimeToLiveSpecification":          map[string]any{"AttributeName": "purgeAt", "Enabled": true},
	} {
		if got := fmt.Sprint(p[name]); got != fmt.Sprint(wanted) {
			faults = append(faults, fmt.Sprintf("%s is %s, want %v", name, got, wanted))
		}
	}
	return faults
}

// checkTableLiterals checks that the table's properties have no intrinsic functions: the local stack and the store's tests create
// the table from the text of the template. Only properties that they leave out may have functions: the encryption, and the
// throughput of the first day.
func checkTableLiterals(tpl *translated.Template) (faults []string) {
	var walk func(v any)
	walk = func(v any) {
		for name, e := range object(v) {
			if name == "Ref" || strings.HasPrefix(name, "Fn::") {
				faults = append(faults, fmt.Sprintf("the table has %s %v", name, e))
			}
			walk(e)
		}
		if l, ok := v.([]any); ok {
			for _, e := range l {
				walk(e)
			}
		}
	}
	properties := maps.Clone(object(object(object(tpl.Raw["Resources"])["Table"])["Properties"]))
	const encryption = `{"Fn::If":["OwnTableKey",{"KMSMasterKeyId":{"Ref":"TableKeyArn"},"SSEEnabled":true,"SSEType":"KMS"},{"Ref":"AWS::NoValue"}]}`
	if got := asJSON(properties["SSESpecification"]); got != encryption {
		faults = append(faults, "the table is encrypted by "+got)
	}
	const warm = `{"Fn::If":["Warm",{"ReadUnitsPerSecond":{"Fn::Select":[0,{"Fn::Split":[",",{"Ref":"WarmThroughput"}]}]},` +
		`"WriteUnitsPerSecond":{"Fn::Select":[1,{"Fn::Split":[",",{"Ref":"WarmThroughput"}]}]}},{"Ref":"AWS::NoValue"}]}`
	index := maps.Clone(object(list(properties["GlobalSecondaryIndexes"])[0]))
	if table, index := asJSON(properties["WarmThroughput"]), asJSON(index["WarmThroughput"]); table != warm || index != warm {
		faults = append(faults, "the warm throughput of the table is "+table+", and of its index "+index)
	}
	for _, name := range []string{"SSESpecification", "WarmThroughput"} {
		delete(properties, name)
		delete(index, name)
	}
	properties["GlobalSecondaryIndexes"] = []any{index}
	walk(properties)
	return faults
}

// checkIndex checks for one index with only keys, orgId and appId. DynamoDB updates the index late, so code must not decide by it:
// it has no attributes to decide by.
func checkIndex(tpl *translated.Template) (faults []string) {
	indexes := list(tpl.Resources["Table"].Properties["GlobalSecondaryIndexes"])
	if len(indexes) != 1 {
		return append(faults, fmt.Sprintf("%d indexes", len(indexes)))
	}
	i := object(indexes[0])
	if got := asJSON(i["KeySchema"]); got != `[{"AttributeName":"due","KeyType":"HASH"},{"AttributeName":"dueAt","KeyType":"RANGE"}]` {
		faults = append(faults, "the index has the keys "+got)
	}
	if i["IndexName"] != "due" || fmt.Sprint(i["Projection"]) != "map[NonKeyAttributes:[orgId appId] ProjectionType:INCLUDE]" {
		faults = append(faults, fmt.Sprint(i))
	}
	return faults
}

// filesOfCall has, for a call in the main.go of a function, the files that read more variables for the function.
var filesOfCall = map[string][]string{
	"accesstoken.ConfigFrom(e)": {"pkg/authn/accesstoken/token.go", "pkg/service/service.go"},
	"service.From(e)":           {"pkg/service/service.go"},
	"service.RightsFrom(e)":     {"pkg/service/service.go", "pkg/service/rights.go"},
	"Limits.ReadBudgets(e)":     {"pkg/store/budget.go"},
}

// reads matches how package boot reads variables: e.Required("A"), e.Optional("A", "default"), and e.Pairs("A_NAMES", "A_VALUES"),
// which names two variables. No default is in capitals, so a second argument in capitals is a variable.
var reads = regexp.MustCompile(`\be\.\w+\("([A-Z_]+)"(?:, "([A-Z_]+)"\))?`)

// shared are the variables of every function, from the template's Globals.
var shared = []string{"AWS_ENDPOINT_URL", "AWS_TRY_TIMEOUT_MS", "GOGC", "STACK", "TABLE"}

// checkEnvironments compares the variables of each function with shared, and with the variables that its main.go reads with package boot.
func checkEnvironments(tpl *translated.Template) (faults []string) {
	functions, err := tpl.Functions()
	if err != nil {
		return []string{err.Error()}
	}
	root, err := tools.Root()
	if err != nil {
		return []string{err.Error()}
	}
	for name, f := range functions {
		source, err := os.ReadFile(filepath.Join(root, f.CodeURI, "main.go"))
		if err != nil {
			return append(faults, err.Error())
		}
		text := string(source)
		for call, files := range filesOfCall {
			if !strings.Contains(text, call) {
				continue
			}
			for _, file := range files {
				more, err := os.ReadFile(filepath.Join(root, file))
				if err != nil {
					return append(faults, err.Error())
				}
				source = append(source, more...)
			}
		}
		wanted := slices.Clone(shared)
		for _, m := range reads.FindAllStringSubmatch(string(source), -1) {
			wanted = append(wanted, slices.DeleteFunc(m[1:], func(name string) bool { return name == "" })...)
		}
		slices.Sort(wanted)
		wanted = slices.Compact(wanted)
		if got := slices.Sorted(maps.Keys(f.Env)); !slices.Equal(got, wanted) {
			faults = append(faults, fmt.Sprintf("%s gets %v and reads %v", name, got, wanted))
		}
		if value := f.Env["AWS_ENDPOINT_URL"]; value != "" {
			faults = append(faults, fmt.Sprintf("%s would call %s on AWS", name, value))
		}
	}
	return faults
}

func checkSigningKey(tpl *translated.Template) (faults []string) {
	raw := object(object(tpl.Raw["Resources"])["SigningKey"])
	if raw["DeletionPolicy"] != "RetainExceptOnCreate" || raw["UpdateReplacePolicy"] != "Retain" {
		faults = append(faults, "the signing key is deleted with the stack")
	}
	p := tpl.Resources["SigningKey"].Properties
	// Without a KeyPolicy the key gets KMS's default policy: the roles of the template decide who may use the key.
	if p["KeySpec"] != "ECC_NIST_P256" || p["KeyUsage"] != "SIGN_VERIFY" || p["KeyPolicy"] != nil {
		faults = append(faults, fmt.Sprint(p))
	}
	return faults
}

func checkSchedules(tpl *translated.Template) (faults []string) {
	all, err := tpl.Schedules()
	if err != nil {
		return []string{err.Error()}
	}
	every := map[string]time.Duration{}
	for _, s := range all {
		every[s.Function] = s.Every
	}
	wanted := map[string]time.Duration{"CheckConsumersFunction": 24 * time.Hour, "RotateFunction": 15 * time.Minute, "SweepFunction": time.Minute}
	if len(all) != 3 || !maps.Equal(every, wanted) {
		faults = append(faults, fmt.Sprintf("%+v", all))
	}
	return faults
}
