package main

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"testing"

	"latchkey/infra/deploy/settings"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
	"latchkey/infra/tools/parameters"
)

// switched has parameter values with which the stack has every function.
var switched = map[string]string{
	"Issuer": "https://issuer.example", "Audience": "https://api.example", "ForwardAuth": "true", "EventBusName": "owner", "AwsEndpoint": "http://127.0.0.1:1",
	"AlarmTopicArn": "arn:aws:sns:us-east-1:000000000000:operators", "ConsoleClientId": "console",
}

// numbers are texts that some programs read as a number.
var numbers = []string{
	"", " ", "0", "1", "00", "07", "+5", "-1", "-0", "1.0", "1.5", "0.5", "1e1", "1E2", "1e-1", "0x10", "1_0", " 5", "5 ", "NaN", "Inf", "٣", "5.",
	"9007199254740993", "9223372036854775807", "9223372036854775808", "99999999999999999999", "1e308",
}

// texts has values of a parameter that programs may read in different ways.
var texts = map[string][]string{
	"KeyPrefix":         {"lkt", "lk", "lktx", "l", "abcdefghijklmnop"},
	"ConsoleParameters": {"a=%zz", "a=%", "a=1&a=2", "a=1;b=2", "a=%41&A=1", "a=1&%61=2", "a=b=c", "a=", "a=+"},
	"Services": {
		"a=https://%zz#s", "a=https://i.example#%zz", "a=https://i.example#s,a=https://j.example#s", "a=https://i.example#s,b=https://i.example#s",
		"a=https:///#s", "a=https://i.example#%00", "a=https://i.example#%F", "a=https://i.example#s, b=https://j.example#s", "a=https://[::1#s",
		"a=https://i.example:x#s", "a=https://i.example#" + strings.Repeat("s", 256), "a=https://%69.example#s,b=https://i.example#s", "a=https://i.example#%20",
	},
	"ServiceRights":            {"a=", "a=b", "a=people", "a=orgs.read", "a=orgs.read+orgs.read", "a=orgs.read+", "a=Orgs.read", "a=orgs.read,a=keys.read"},
	"WebhookAllowCidrs":        {"127.999.0.0/8", "127.0.0.0/8,", "127.0.0.0/8, ", "127.00.0.1/8", "127.0.0.1/32,127.0.0.1/32", "::1/128,127.1.2.3/9"},
	"WebhookAllowPrivateCidrs": {"10.999.0.0/8", "10.0.0.0/08", "256.0.0.0/8", "259.1.1.1/32", "1::2::3:/128", "abcd:/64", "0:/8", "d:::/128", "10.0.0.0/8,"},
	"ProductName":              {"a\u202eb", "\u200b", strings.Repeat("Ä", 40), strings.Repeat("a", 41), "<b>&\"'\\", "a\tb"},
	"SupportUrl":               {"https://", "https:///x", "https://a:b@c.example", "https://%zz", "mailto:", "mailto:x", "mailto://a@b.example", "https://[::1", "javascript:alert(1)"},
	"Accent":                   {"#12345g", "#1234567", "#abc", "red", "#AABBCC;", "#AABBCC"},
	"ClientIds":                {",", "a,,b", " , ", "a,a"},
	"MaxAuthAge":               {"9223372036", "9223372037", "86400"},
	"RotationDays":             {"106751", "106752"},
}

// edges returns values at and near the limits of a parameter.
func edges(name string, d parameters.Parameter) []string {
	all := append(slices.Clone(d.AllowedValues), texts[name]...)
	for _, v := range d.AllowedValues {
		all = append(all, strings.ToUpper(v), v+" ", v+".0")
	}
	if d.Type == "Number" {
		all = append(all, numbers...)
	}
	for _, edge := range []*float64{d.MinValue, d.MaxValue} {
		if edge != nil {
			for _, v := range []float64{*edge - 1, *edge, *edge + 1, *edge + 0.5} {
				all = append(all, fmt.Sprint(v), fmt.Sprintf("%.0f", v), fmt.Sprintf("%.1f", v), fmt.Sprintf("0%.0f", v), fmt.Sprintf("%e", v))
			}
		}
	}
	if d.AllowedPattern != "" {
		parsed, err := syntax.Parse(d.AllowedPattern, syntax.Perl)
		if err == nil {
			all = append(all, matches(parsed.Simplify())...)
		}
	}
	if d.Type != "Number" && d.AllowedValues == nil {
		all = append(all, "", "x", ",", "%", "é", "a,b", "a,,b", strings.Repeat("a", 300))
		for _, v := range slices.Clone(all) {
			all = append(all, v+","+v, v+", "+v)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// matches returns a few texts that match a pattern: each alternative, the first and the last character of each class, and each
// repeated part with the fewest repetitions and with more.
func matches(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		return []string{string(re.Rune[0]), string(re.Rune[len(re.Rune)-1])}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"a", "%", "é"}
	case syntax.OpCapture:
		return matches(re.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		return append([]string{""}, matches(re.Sub[0])...)
	case syntax.OpPlus:
		some := matches(re.Sub[0])
		return append(slices.Clone(some), strings.Repeat(some[len(some)-1], 40))
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, matches(sub)...)
		}
		return all
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			next := matches(sub)
			var longer []string
			for i := range max(len(all), len(next)) { // each text at least once, but not every combination
				longer = append(longer, all[min(i, len(all)-1)]+next[min(i, len(next)-1)])
			}
			all = longer
		}
		return all
	}
	return []string{""}
}

// TestFunctionsStartWithEveryAcceptedValue tries values at the edges of each parameter. If the preflight accepts a value, each
// function that gets the parameter must start with it.
func TestFunctionsStartWithEveryAcceptedValue(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	if _, err := tools.Output(t.Context(), "../..", nil, "go", "build", "-buildvcs=false", "-o", programs+"/", "./functions/..."); err != nil {
		t.Fatal(err)
	}
	template, err := settings.ReadTemplate("../..")
	if err != nil {
		t.Fatal(err)
	}
	options := translated.Options{Parameters: switched}
	tpl, err := translated.Translate(t.Context(), "../../template.yaml", options)
	if err != nil {
		t.Fatal(err)
	}
	started := map[string]bool{}
	var mu sync.Mutex
	var group sync.WaitGroup
	slots := make(chan struct{}, 4) // at most four processes at once
	for _, name := range slices.Sorted(maps.Keys(template.Parameters)) {
		for _, value := range edges(name, template.Parameters[name]) {
			given := maps.Clone(switched)
			given[name] = value
			p := &program{template: template, Settings: settings.Settings{Parameters: given}}
			if template.CheckValues(map[string]string{name: value}) != nil || p.checkReaders() != nil {
				continue
			}
			options.Parameters = given
			deployed, err := tpl.Resolve(options)
			if err != nil {
				continue // a condition of the template refuses it
			}
			for _, function := range deployed.Named("AWS::Lambda::Function") {
				env := environmentOf(deployed, function)
				path := filepath.Join(programs, filepath.Base(tpl.Code[function]))
				if key := path + strings.Join(env, "\x00"); started[key] {
					continue
				} else {
					started[key] = true
				}
				group.Go(func() {
					slots <- struct{}{}
					defer func() { <-slots }()
					cmd := exec.CommandContext(t.Context(), path)
					cmd.Env = env
					if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), "expected AWS Lambda environment variables [AWS_LAMBDA_RUNTIME_API]") {
						mu.Lock()
						defer mu.Unlock()
						t.Errorf("%s=%q: %s does not start: %.500s", name, value, function, out)
					}
				})
			}
		}
	}
	group.Wait()
	if len(started) < 300 {
		t.Errorf("%d starts were tried", len(started))
	}
}

// environmentOf returns a function's environment, with variables that Lambda adds.
func environmentOf(tpl *translated.Template, function string) []string {
	env := []string{"AWS_ACCESS_KEY_ID=AKIDLOCAL", "AWS_SECRET_ACCESS_KEY=local", "AWS_REGION=us-east-1"}
	for name, value := range translated.Object(translated.Object(tpl.Resources[function].Properties["Environment"])["Variables"]) {
		env = append(env, fmt.Sprintf("%s=%v", name, value))
	}
	slices.Sort(env)
	return env
}

// TestARefusedAddressIsShownWithoutItsSecrets puts secrets into the user and the query of an address: a pipeline keeps the output.
func TestARefusedAddressIsShownWithoutItsSecrets(t *testing.T) {
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t))
	for _, value := range []string{
		"JwksUrl=ftp://a.example/?key=SECRET", "JwksUrl=https://[::1/?key=SECRET", "JwksUrl=https://u:SECRET@:x/", "UserinfoUrl=http://SECRET@a.example/", "UserinfoUrl=https://%zz?SECRET",
		"Issuer=http://a.example?SECRET", "WebhookIssuer=https://x:y/a?b=SECRET?c", "AwsEndpoint=http://u:SECRET@a.example", "ConsoleOrigins=https://u:SECRET@a.example:443",
	} {
		_, err := r.deploy("YES=1", "PARAMETERS="+value)
		name, _, _ := strings.Cut(value, "=")
		if err == nil || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// TestValuesThatAFunctionRefusesAreRefusedBeforeABuild checks that the error has the reason of the function's code.
func TestValuesThatAFunctionRefusesAreRefusedBeforeABuild(t *testing.T) {
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t, "ForwardAuthSecret=****"))
	for _, c := range []struct{ parameter, word string }{
		{"KeyPrefix=lkt", "link tokens"}, {"MaxKeyDays=1.5", "whole number"}, {"MaxAuthAge=1e3", "whole number"}, {"RotationDays=07", "whole number"},
		{"AuthorizerConcurrency=00", "whole number"}, {"TryTimeout=+700", "whole number"}, {"LogRetentionDays=30.0", "one of"}, {"ThrottleRate=0.5", "whole number"},
		{"ThrottleRate=-1", "least"}, {"PublicThrottleBurst=0", "least"}, {"MaxAuthAge=99999999999", "most"}, {"RotationDays=200000", "most"},
		{"Services=a=https://i.example#s,a=https://j.example#s", "is already in the list"}, {"Services=a=https://i.example#%zz", "invalid URL escape"},
		{"Services=a=http://i.example#s", "begins with https://"}, {"ConsoleParameters=a=1&a=2", "twice"}, {"ConsoleParameters=a=%zz", "no query"},
		{"ProductName='a\u202eb'", "can be seen"}, {"ProductName=", "must be 1 to 40"}, {"ProductName=" + strings.Repeat("a", 41), "must be 1 to 40"},
		{"SupportUrl=javascript:alert(1)", "must begin with https://"}, {"SupportUrl=http://a.example", "must begin with https://"}, {"SupportUrl=https:///x", "want https://HOST"}, {"SupportUrl=mailto:x", "want https://HOST"},
		{"Accent=red", "must be a colour"}, {"Accent=#12345g", "must be a colour"}, {"Accent='#123456;}*{color:red'", "must be a colour"},
		{"ServiceRights=biling=orgs.read", "no service biling in Services"}, {"ServiceRights=a=orgs.reed Services=a=https://i.example#s", `no right "orgs.reed"`},
		{"ServiceRights=a=orgs.read,a=keys.read Services=a=https://i.example#s", "twice"}, {"ServiceRights=a=", "must be NAME=RIGHT"},
		{"WebhookAllowCidrs=127.999.0.0/8", "CIDR"}, {"WebhookAllowPrivateCidrs=10.0.0.999/8", "CIDR"}, {"ConsoleOrigins=http://a.example", "must be origins"},
		{"JwksUrl=https://[::1", "host cannot be read"}, {"UserinfoUrl=https://%zz", "host cannot be read"}, {"UserinfoUrl=https:///x", "host cannot be read"},
		{"Issuer=https://:x", "host cannot be read"}, {"WebhookIssuer=https://x:y", "host cannot be read"},
		{"ConsoleOrigins=https://a.example:8443,https://b.example:443", "default port"}, {"ConsoleOrigins=http://localhost:80", "default port"}, {"ClientIds=,", "must be client ids"}, {"ClientIds=a,,b", "must be client ids"}, {"ClientIds=a,", "must be client ids"},
		{"ConsoleClientId=web,admin", "one client id"}, {"ConsoleClientId=web,", "one client id"}, {"DomainName=api.example.com.", "must be a host name"}, {"DomainName=-", "must be a host name"}, {"DomainName=api.-example.com", "must be a host name"}, {"DomainName=api..example", "must be a host name"},
		{"ConsoleOrigins=https://a.example:0443", "must be origins"}, {"ConsoleOrigins=https://a.example.", "must be origins"}, {"ConsoleOrigins=https://a.example,https://-b.example", "must be origins"}, {"ConsoleOrigins=https://a.example:", "must be origins"},
	} {
		_, err := r.deploy("YES=1", "PARAMETERS="+c.parameter)
		refused(t, err, c.word, regexp.MustCompile(`^\w+`).FindString(c.parameter))
		if calls := r.calls(); calls != nil {
			t.Errorf("%s: the SAM CLI was run: %q", c.parameter, calls)
		}
	}
}
