package template_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/template/translated"
	"latchkey/pkg/principal"
	"latchkey/pkg/route"
)

// public are the routes that need no credential: the public routes of infra/docs/contract.md ("Routes"), and the preflights of
// browsers.
var public = []string{
	"GET /.well-known/jwks.json",
	"GET /catalogue.json",
	"GET /console",
	"GET /console/config.json",
	"GET /console/files/{file}",
	"GET /console/verify",
	"GET /llms.txt",
	"GET /openapi.yaml",
	"GET /reference",
	"GET /webhook_verification_key/{kid}",
	"HEAD /.well-known/jwks.json",
	"HEAD /catalogue.json",
	"HEAD /console",
	"HEAD /console/config.json",
	"HEAD /console/files/{file}",
	"HEAD /console/verify",
	"HEAD /llms.txt",
	"HEAD /openapi.yaml",
	"HEAD /reference",
	"HEAD /webhook_verification_key/{kid}",
	"OPTIONS /key/revoke",
	"OPTIONS /link/claim",
	"OPTIONS /v1/{proxy+}",
	"OPTIONS /webhook_verification_key/get",
	"POST /key/leaks/github",
	"POST /key/revoke",
	"POST /link/claim",
	"POST /webhook_verification_key/get",
}

func TestEveryRouteButThePublicOnesHasTheAuthorizer(t *testing.T) { assertNone(t, checkPublicRoutes) }

func TestRoutesNameOnlyDefinedSchemes(t *testing.T) { assertNone(t, checkSchemes) }

func TestNoAnswerOfTheAuthorizerIsCached(t *testing.T) { assertNone(t, checkUncached) }

func TestOnlyRoutesMayCallTheirFunctions(t *testing.T) { assertNone(t, checkPermissions) }

func TestTheStageAndEveryPublicRouteAreThrottled(t *testing.T) { assertNone(t, checkThrottles) }

// pathParameter matches a parameter of a path, such as {orgId}.
var pathParameter = regexp.MustCompile(`\{[^}]+\}`)

func name(r translated.Route) string { return r.Method + " " + r.Path }

// checkPublicRoutes checks that exactly the public routes are without the authorizer, in the template and in the table of routes.
func checkPublicRoutes(tpl *translated.Template) (faults []string) {
	a, err := tpl.API()
	if err != nil {
		return []string{err.Error()}
	}
	for _, r := range a.Routes {
		if open := slices.Contains(public, name(r)); open != (r.Authorizer == "") {
			faults = append(faults, fmt.Sprintf("%s: authorizer %q", name(r), r.Authorizer))
		}
		if r.Method == "OPTIONS" && !slices.Contains(public, name(r)) {
			faults = append(faults, name(r)+": no browser calls this path")
		}
	}
	for _, r := range route.All() {
		if open := slices.Contains(public, r.Name()); open != (r.Takes == principal.Public) {
			faults = append(faults, fmt.Sprintf("%s accepts %s in the table of routes", r.Name(), r.Takes))
		}
	}
	return faults
}

// checkSchemes checks that the authorizer is the only security of each route, and that a public route has none. API Gateway may warn
// about a scheme that the document does not define, and every deployment would fail (FailOnWarnings).
func checkSchemes(tpl *translated.Template) (faults []string) {
	body := object(tpl.Resources["Api"].Properties["Body"])
	const scheme = "Credentials"
	if defined := slices.Collect(maps.Keys(object(body["securityDefinitions"]))); !slices.Equal(defined, []string{scheme}) || body["security"] != nil {
		faults = append(faults, fmt.Sprintf("the document has the schemes %q and the security %v", defined, body["security"]))
	}
	for path, item := range object(body["paths"]) {
		for method, operation := range object(item) {
			want := `[{"` + scheme + `":[]}]`
			if slices.Contains(public, strings.ToUpper(method)+" "+path) {
				want = "null"
			}
			if got := asJSON(object(operation)["security"]); got != want {
				faults = append(faults, fmt.Sprintf("%s %s has the security %s, want %s", method, path, got, want))
			}
		}
	}
	return faults
}

func checkUncached(tpl *translated.Template) (faults []string) {
	a, err := tpl.API()
	if err != nil {
		return []string{err.Error()}
	}
	if len(a.Authorizers) != 1 {
		faults = append(faults, fmt.Sprintf("there are %d authorizers", len(a.Authorizers)))
	}
	for name, authorizer := range a.Authorizers {
		if authorizer.TTL != 0 || len(authorizer.Identity) != 0 || authorizer.Function != "AuthorizerFunction" {
			faults = append(faults, fmt.Sprintf("%s: %+v", name, authorizer))
		}
	}
	return faults
}

// checkPermissions checks that API Gateway has one permission for each route, and no other permission to call a function.
func checkPermissions(tpl *translated.Template) (faults []string) {
	a, err := tpl.API()
	if err != nil {
		return []string{err.Error()}
	}
	granted := map[string]bool{} // FUNCTION SOURCE, each without the beginning of its ARN
	for _, n := range tpl.Named("AWS::Lambda::Permission") {
		p := tpl.Resources[n].Properties
		source, _ := p["SourceArn"].(string)
		if p["Principal"] == "apigateway.amazonaws.com" {
			function := fmt.Sprint(p["FunctionName"]) // a name or an ARN
			granted[function[strings.LastIndex(function, ":")+1:]+" "+source[strings.LastIndex(source, ":")+1:]] = true
		}
	}
	wanted := []string{
		"AuthorizerFunction local/authorizers/*",
		"KeyAuthorizerFunction */authorizers/*", "MemberAuthorizerFunction */authorizers/*", // for the account's other APIs
	}
	for _, r := range a.Routes {
		wanted = append(wanted, r.Function+" local/*/"+r.Method+pathParameter.ReplaceAllString(r.Path, "*"))
	}
	for _, w := range wanted {
		if !granted[w] {
			faults = append(faults, "no permission: "+w)
		}
		delete(granted, w)
	}
	for g := range granted {
		faults = append(faults, "a permission for no route: "+g)
	}
	return faults
}

// TestEachFunctionsPolicyIsSmall: AWS accepts 20 KB. SAM adds a permission for each route, and while a deployment renames permissions
// the function has the old and the new ones.
func TestEachFunctionsPolicyIsSmall(t *testing.T) {
	const most = 12_000 // bytes of a policy
	const arns = 240    // bytes of the ARNs in a permission, without the path
	tpl, sizes := template(t), map[string]int{}
	for _, name := range tpl.Named("AWS::Lambda::Permission") {
		p := tpl.Resources[name].Properties
		function := fmt.Sprint(p["FunctionName"])
		source, _ := p["SourceArn"].(string)
		const form = `{"Sid":"-XXXXXXXXXXXX","Effect":"Allow","Principal":{"Service":"apigateway.amazonaws.com"},"Action":"lambda:InvokeFunction",` +
			`"Resource":"","Condition":{"ArnLike":{"AWS:SourceArn":""}}},`
		sizes[function[strings.LastIndex(function, ":")+1:]] += len(form) + len(name) + arns + len(source)
	}
	if len(sizes) < 10 {
		t.Errorf("only %v", sizes)
	}
	for function, size := range sizes {
		if size > most {
			t.Errorf("%s: %d bytes, want at most %d", function, size, most)
		}
	}
}

// TestOneCallCanSetEveryLimitOfTheStage counts the operations of an UpdateStage that sets every property of MethodSettings. API Gateway
// refuses a call with too many ("Update size too large"), and AWS does not say how many: a plugin of the Serverless Framework sends at
// most 80 in a call. We do not know whether CloudFormation divides its call.
func TestOneCallCanSetEveryLimitOfTheStage(t *testing.T) {
	const most = 80
	tpl := template(t)
	for _, stage := range tpl.Named("AWS::ApiGateway::Stage") {
		operations := 0
		for _, setting := range list(tpl.Resources[stage].Properties["MethodSettings"]) {
			operations += len(object(setting)) - 2 // without HttpMethod and ResourcePath
		}
		if operations < 2*len(public) || operations > most {
			t.Errorf("%s: %d operations, want at most %d", stage, operations, most)
		}
	}
}

// checkThrottles checks that the stage and each public route have a limit, and no method has another setting: DataTraceEnabled would
// log keys, tokens and people's addresses.
func checkThrottles(tpl *translated.Template) (faults []string) {
	settings := map[string]string{}
	for _, stage := range tpl.Named("AWS::ApiGateway::Stage") {
		for _, v := range list(tpl.Resources[stage].Properties["MethodSettings"]) {
			s := object(v)
			if len(s) != 4 || s["ThrottlingRateLimit"] == nil || s["ThrottlingBurstLimit"] == nil {
				faults = append(faults, fmt.Sprintf("a method has the settings %v", s))
			}
			settings[fmt.Sprint(s["HttpMethod"], " ", s["ResourcePath"])] = "throttled"
		}
	}
	wanted := map[string]string{"* /*": "throttled"}
	for _, r := range public {
		method, path, _ := strings.Cut(r, " ")
		// In CloudFormation every slash but the first is escaped, as in a JSON pointer.
		wanted[method+" /"+strings.ReplaceAll(path, "/", "~1")] = "throttled"
	}
	return append(faults, differences("method", settings, wanted)...)
}
