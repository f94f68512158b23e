package template_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/template/translated"
	"latchkey/infra/tools/parameters"
	"latchkey/pkg/store"
)

func TestEveryParameterAcceptsItsDefault(t *testing.T) { assertNone(t, checkDefaults) }

func TestARefusedValueIsExplainedInWords(t *testing.T) { assertNone(t, checkExplanations) }

func TestEveryParameterHasAnEffect(t *testing.T) { assertNone(t, checkParametersRead) }

func TestBudgetsEqualTheStoresDefaults(t *testing.T) { assertNone(t, checkBudgets) }

// TestTheConsolesClientIsAddedToClientIds checks too that an empty ClientIds, which accepts every client, stays empty.
func TestTheConsolesClientIsAddedToClientIds(t *testing.T) {
	for _, c := range []struct{ clients, console, want string }{{"", "", ""}, {"", "c", ""}, {"a,b", "c", "a,b,c"}, {"a", "", "a,"}} {
		tpl := given(t, map[string]string{"ClientIds": c.clients, "ConsoleClientId": c.console})
		for name, r := range tpl.Resources {
			environment := object(object(r.Properties["Environment"])["Variables"])
			if got, has := environment["CLIENT_IDS"]; has && got != c.want {
				t.Errorf("%s: ClientIds=%q and ConsoleClientId=%q give %q", name, c.clients, c.console, got)
			}
		}
	}
}

// TestWarmThroughputIsNeverBelowANewTables: a new table on demand has 12,000 reads and 4,000 writes, and AWS refuses to make a table
// with fewer.
func TestWarmThroughputIsNeverBelowANewTables(t *testing.T) {
	_, declared := parametersOf(template(t))
	for value, isRight := range map[string]bool{
		"": true, "12000,4000": true, "40000,16000": true, "19999,9999": true, "20000,10000": true, "99999,99999": true, "100000,4000": true, "9999999,9999999": true,
		"11999,4000": false, "12000,3999": false, "9999,16000": false, "1200,4000": false, "12000,400": false, "012000,4000": false, "10000000,4000": false,
		"12000,10000000": false, "12000": false, "12000, 4000": false, ",": false,
	} {
		if got := accepts(declared["WarmThroughput"], value); got != isRight {
			t.Errorf("WarmThroughput=%s: %v", value, got)
		}
	}
}

func TestSwitchesAreOnOrOff(t *testing.T) { assertNone(t, checkSwitches) }

func TestCloudWatchAcceptsEachLogRetention(t *testing.T) { assertNone(t, checkRetention) }

func TestLambdaKnowsEachSystemLogLevel(t *testing.T) { assertNone(t, checkLevels) }

func TestSecretParametersAreNotShown(t *testing.T) { assertNone(t, checkSecrets) }

func TestVariablesAreNamedAfterTheirParameters(t *testing.T) { assertNone(t, checkVariableNames) }

// parametersOf returns the parameters as the template declares them, in the order of their names.
func parametersOf(tpl *translated.Template) (names []string, declared map[string]map[string]any) {
	declared = map[string]map[string]any{}
	for name, p := range object(tpl.Raw["Parameters"]) {
		declared[name] = object(p)
	}
	return slices.Sorted(maps.Keys(declared)), declared
}

// allowed returns the values that a parameter is limited to, as texts, or nil.
func allowed(p map[string]any) (values []string) {
	for _, v := range list(p["AllowedValues"]) {
		values = append(values, fmt.Sprint(v))
	}
	return values
}

// accepts reports whether CloudFormation accepts a value of a parameter.
func accepts(p map[string]any, value string) bool {
	var declared parameters.Parameter
	err := yaml.Unmarshal([]byte(asJSON(p)), &declared)
	return err == nil && declared.Accepts(value) == nil
}

// checkExplanations checks that each pattern has words: CloudFormation and make deploy show them in place of the pattern.
func checkExplanations(tpl *translated.Template) (faults []string) {
	names, declared := parametersOf(tpl)
	for _, name := range names {
		words, _ := declared[name]["ConstraintDescription"].(string)
		if _, has := declared[name]["AllowedPattern"]; has != strings.HasPrefix(words, "must ") {
			faults = append(faults, fmt.Sprintf("%s: %q", name, words))
		}
	}
	return faults
}

// defaultsNotInCode has the defaults that only the template has: no other test compares them.
var defaultsNotInCode = map[string]string{"RotationDays": "90", "KeyPrefix": "lk", "ForwardAuthConcurrency": "50"}

// checkDefaults checks that each parameter but Issuer has a default that CloudFormation accepts, and that each number refuses -1.
func checkDefaults(tpl *translated.Template) (faults []string) {
	names, declared := parametersOf(tpl)
	for _, name := range names {
		p := declared[name]
		if p["Type"] != "String" && p["Type"] != "Number" {
			faults = append(faults, fmt.Sprintf("%s is a %v", name, p["Type"]))
		}
		value, has := p["Default"]
		wantsDefault := name != "Issuer"
		if has != wantsDefault || has && !accepts(p, fmt.Sprint(value)) {
			faults = append(faults, fmt.Sprintf("%s has the default %v, of %v", name, value, p))
		}
		if want := defaultsNotInCode[name]; want != "" && fmt.Sprint(value) != want {
			faults = append(faults, fmt.Sprintf("%s is %v by default, want %s", name, value, want))
		}
		if p["Type"] == "Number" && accepts(p, "-1") {
			faults = append(faults, name+" accepts -1")
		}
	}
	return faults
}

// checkParametersRead checks that each parameter is read somewhere: otherwise the stack would ignore the value that an owner gives.
func checkParametersRead(tpl *translated.Template) (faults []string) {
	names, _ := parametersOf(tpl)
	rest := asJSON([]any{tpl.Raw["Conditions"], tpl.Raw["Resources"], tpl.Raw["Outputs"]})
	for _, name := range names {
		if !strings.Contains(rest, `{"Ref":"`+name+`"}`) && !strings.Contains(rest, "${"+name+"}") {
			faults = append(faults, "nothing reads "+name)
		}
	}
	return faults
}

// checkBudgets checks that the defaults equal the store's. The store's tests use budgets of this size.
func checkBudgets(tpl *translated.Template) (faults []string) {
	_, declared := parametersOf(tpl)
	app := store.DefaultLimits().Budget
	for name, want := range map[string]int{
		"DeliveriesPerSecond": app.PerSecond, "DeliveriesBurst": app.Burst,
	} {
		if got := fmt.Sprint(declared[name]["Default"]); got != fmt.Sprint(want) {
			faults = append(faults, fmt.Sprintf("%s is %s by default, and %d in the store", name, got, want))
		}
	}
	return faults
}

// longLists are the parameters with listed values that no condition compares. Other checks read their values.
var longLists = []string{"LogRetentionDays", "SystemLogLevel"}

// checkSwitches checks that a parameter with listed values has two of them: the conditions compare it with one. A parameter of true and
// false is false by default.
func checkSwitches(tpl *translated.Template) (faults []string) {
	names, declared := parametersOf(tpl)
	found := 0
	for _, name := range names {
		values := allowed(declared[name])
		if len(values) == 0 || slices.Contains(longLists, name) {
			continue
		}
		if name == "LeakReports" && slices.Equal(values, []string{"off", "tell", "revoke"}) && declared[name]["Default"] == "off" {
			continue // only the function reads it, no condition
		}
		found++
		isSwitch := values[0] == "true"
		isOff := slices.Equal(values, []string{"true", "false"}) && declared[name]["Default"] == "false"
		if len(values) != 2 || isSwitch && !isOff {
			faults = append(faults, fmt.Sprintf("%s is one of %q, by default %v", name, values, declared[name]["Default"]))
		}
	}
	if found < 6 { // the template has more
		faults = append(faults, fmt.Sprintf("%d parameters have two values", found))
	}
	return faults
}

// checkRetention checks that CloudWatch's call PutRetentionPolicy accepts each number of days.
func checkRetention(tpl *translated.Template) (faults []string) {
	days := []string{"1", "3", "5", "7", "14", "30", "60", "90", "120", "150", "180", "365", "400", "545", "731", "1096", "1827", "2192", "2557", "2922", "3288", "3653"}
	_, declared := parametersOf(tpl)
	values := allowed(declared["LogRetentionDays"])
	if len(values) < 2 {
		faults = append(faults, fmt.Sprintf("LogRetentionDays is one of %q", values))
	}
	for _, v := range values {
		if !slices.Contains(days, v) {
			faults = append(faults, "CloudWatch keeps logs for no "+v+" days")
		}
	}
	return faults
}

// checkLevels checks that the levels are Lambda's, and that the default is the level with the fewest lines: Lambda's own three lines
// for each call would cost more than ours.
func checkLevels(tpl *translated.Template) (faults []string) {
	_, declared := parametersOf(tpl)
	if p := declared["SystemLogLevel"]; !slices.Equal(allowed(p), []string{"DEBUG", "INFO", "WARN"}) || p["Default"] != "WARN" {
		faults = append(faults, fmt.Sprintf("SystemLogLevel is one of %q, by default %v", allowed(p), p["Default"]))
	}
	return faults
}

// checkSecrets checks that a secret is hidden, and that a short one is refused.
func checkSecrets(tpl *translated.Template) (faults []string) {
	names, declared := parametersOf(tpl)
	for _, name := range names {
		if strings.HasSuffix(name, "Secret") && (declared[name]["NoEcho"] != true || accepts(declared[name], "short")) {
			faults = append(faults, fmt.Sprintf("%s is %v", name, declared[name]))
		}
	}
	return faults
}

// otherNames are the variables that are not named after their parameter or resource.
var otherNames = map[string]string{
	"AwsEndpoint": "AWS_ENDPOINT_URL", "EventBusName": "EVENT_BUS",
	"TryTimeout": "AWS_TRY_TIMEOUT_MS", "MemberOrgParameter": "ORG_PARAMETER", "ForwardAuthSecret": "SECRET",
	"DeliveryQueue": "QUEUE_URL", "AWS::StackName": "STACK",
}

// wordEnd matches the end of a word and the beginning of the next in a name such as KeyPrefix.
var wordEnd = regexp.MustCompile(`([a-z])([A-Z])`)

// checkVariableNames checks that a variable with a parameter's value is named after the parameter, as KEY_PREFIX after KeyPrefix. Another
// check, checkEnvironments, compares each function's variables with the variables that it reads.
func checkVariableNames(tpl *translated.Template) (faults []string) {
	named := 0
	for _, function := range tpl.Named("AWS::Lambda::Function") {
		for name, source := range object(object(rawProperties(tpl, function)["Environment"])["Variables"]) {
			parameter, isRef := object(source)["Ref"].(string)
			if !isRef {
				continue
			}
			named++
			wanted := otherNames[parameter]
			if wanted == "" {
				wanted = strings.ToUpper(wordEnd.ReplaceAllString(parameter, "${1}_${2}"))
			}
			if name != wanted {
				faults = append(faults, fmt.Sprintf("%s of %s is %s, want it in %s", name, function, parameter, wanted))
			}
		}
	}
	if named < 100 { // the functions have more
		faults = append(faults, fmt.Sprintf("%d variables have a parameter's value", named))
	}
	return faults
}

// tryValues checks that a parameter accepts the values with true, and refuses the values with false.
func tryValues(t *testing.T, parameter string, values map[string]bool) {
	t.Helper()
	_, declared := parametersOf(template(t))
	for value, good := range values {
		if accepts(declared[parameter], value) != good {
			t.Errorf("%s accepts %q: %v", parameter, value, !good)
		}
	}
}

// TestTheIssuersURLsAreOverTLS permits plain HTTP only on this machine: on a network, an attacker could replace the issuer's keys.
// 127a0b0c1 matches a pattern whose dots are not escaped.
func TestTheIssuersURLsAreOverTLS(t *testing.T) {
	for _, parameter := range []string{"Issuer", "JwksUrl", "UserinfoUrl", "WebhookIssuer", "AwsEndpoint"} {
		tryValues(t, parameter, map[string]bool{
			"": parameter != "Issuer", "https://issuer.example/?a=b": true, "http://localhost:3009/latchkey": true, "http://127.0.0.1:3009": true,
			"http://issuer.example": false, "http://localhost.example": false, "http://127.0.0.1.example/": false, "http://127a0b0c1/": false,
			"https://": false, "issuer.example": false, "ftp://issuer.example": false,
		})
	}
}

// TestTheProxiesHaveTwoSecretsAtMost permits a second secret, so that proxies can change from one secret to the next.
func TestTheProxiesHaveTwoSecretsAtMost(t *testing.T) {
	one, other := strings.Repeat("a", 32), strings.Repeat("-", 128)
	tryValues(t, "ForwardAuthSecret", map[string]bool{
		"": true, one: true, one + "," + other: true, other + ", " + one: true, one + "," + one + "," + one: false, one + ",": false, "," + one: false,
		one + ",short": false, one + " " + other: false, one[1:]: false, other + "a": false,
	})
}

// TestTheOwnersNameAddressAndColourAreChecked tries the patterns. The console's code checks more.
func TestTheOwnersNameAddressAndColourAreChecked(t *testing.T) {
	tryValues(t, "ProductName", map[string]bool{"": false, strings.Repeat("Ä", 40): true, strings.Repeat("a", 41): false, `<b>&"'\`: true, "a\tb": false, "a\nb": false})
	tryValues(t, "SupportUrl", map[string]bool{"": true, "https://a.example/x?y=z": true, "mailto:a@b.example": true, "http://a.example": false, "https://a b": false, `https://a"b`: false, "https://": false})
	tryValues(t, "Accent", map[string]bool{"": true, "#3d52D5": true, "#abc": false, "3d52d5": false, "#3d52d5;": false, "red": false})
}

// TestParametersAreFew limits their number, because an owner reads all of them.
func TestParametersAreFew(t *testing.T) {
	if names, _ := parametersOf(template(t)); len(names) > 65 {
		t.Errorf("%d parameters, want 65 at most", len(names))
	}
}

// TestServicesAreOverTLS permits plain HTTP only on this machine, for each service of the list.
func TestServicesAreOverTLS(t *testing.T) {
	tryValues(t, "Services", map[string]bool{
		"": true, "a=https://i.example#s": true, "a=https://i.example/x#s,b=https://j.example#t": true, "a=http://localhost:3009/i#s": true,
		"a=http://127.0.0.1#s, b=http://localhost#t": true, "a=https://i.example#s,b=http://localhost:1/#t": true,
		"a=http://i.example#s": false, "a=https://i.example#s,b=http://i.example#t": false, "a=http://localhost.example#s": false, "a=http://127.0.0.1.example#s": false,
		"a=http://127.0.0.1@i.example#s": false, "a=http://localhost:80@i.example#s": false, "a=http://localhost%2ei.example#s": false, "a=http://127a0b0c1#s": false,
		"a=HTTP://i.example#s": false, "a=ftp://i.example#s": false, "a=http://10.0.0.1#s": false, "a=http://[::1]#s": false,
	})
}

func TestConsoleOriginsAcceptOnlyOrigins(t *testing.T) {
	tryValues(t, "ConsoleOrigins", map[string]bool{
		"": true, "https://console.example.com": true, "http://localhost:5173": true, "https://a.example,https://b.example": true,
		"https://a.example, https://b.example:8443": true, "*": false, "null": false, "https://*": false, "console.example.com": false,
		"https://a.example/": false, "https://A.example": false, "https://a.example,": false, "https://a.example;https://b.example": false,
		"https://a.example:": false, "ftp://a.example": false, "https://user@a.example": false,
		"http://127.0.0.1:5173,https://a.example": true, "http://a.example": false, "https://a.example,http://b.example": false, "http://localhost.example": false,
		"http://10.0.0.1": false, "http://127.0.0.1.example": false, "http://localhost:80,http://a.example:80": false,
	})
}

// TestWebhooksReachOnlyThisMachine tests WebhookAllowCidrs. Other networks need another parameter, so that a value copied from a
// laptop opens no network on AWS.
func TestWebhooksReachOnlyThisMachine(t *testing.T) {
	tryValues(t, "WebhookAllowCidrs", map[string]bool{
		"": true, "127.0.0.0/8": true, "127.0.0.1/32": true, "127.0.0.0/8,::1/128": true, "127.0.0.0/8, 127.1.0.0/16": true,
		"10.0.0.0/8": false, "127.0.0.0/1": false, "127.0.0.0/7": false, "0.0.0.0/0": false, "::/0": false, "127.0.0.0/8,10.0.0.0/8": false,
	})
}

// TestWebhooksReachNoNetworkOfThePlatform tries values of WebhookAllowPrivateCidrs. At 169.254.169.254 a cloud gives credentials to
// its machines, and a very wide network contains this address.
func TestWebhooksReachNoNetworkOfThePlatform(t *testing.T) {
	tryValues(t, "WebhookAllowPrivateCidrs", map[string]bool{
		"": true, "10.0.0.0/8": true, "10.0.0.0/8, 192.168.0.0/16": true, "172.16.0.0/12,fd00::/8": true, "10.1.2.3/32": true,
		"2001:db8:1::/48": true, "168.0.0.0/8": true, "170.1.0.0/16": true, "100.64.0.0/10": true,
		"0.0.0.0/0": false, "0.0.0.0/1,128.0.0.0/1": false, "10.0.0.0/7": false, "10.0.0.0/33": false, "::/0": false, "fc00::/7": false,
		"169.254.0.0/16": false, "10.0.0.0/8,169.254.169.254/32": false, "169.0.0.0/8": false, "fe80::/10": false, "febf::1/128": false,
		"::ffff:169.254.169.254/128": false, "::/8": false, "10.0.0.0": false, "localhost": false, "10.0.0.0/8 192.168.0.0/16": false,
	})
}
