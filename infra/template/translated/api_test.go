package translated_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/infra/template/translated"
)

const tokenTemplate = `
Transform: AWS::Serverless-2016-10-31
Resources:
  Api:
    Type: AWS::Serverless::Api
    Properties:
      StageName: live
      Auth:
        Authorizers:
          Plain: {FunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:Other'}
          Full:
            FunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:Other'
            Identity: {Header: X-Key, ReauthorizeEvery: 30}
`

func TestATokenAuthorizerIsReadFromTheTemplate(t *testing.T) {
	tpl, err := translate(t, tokenTemplate, translated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	api, err := tpl.API()
	if err != nil {
		t.Fatal(err)
	}
	// SAM's default is the type TOKEN. API Gateway's default is to cache an answer for five minutes.
	plain := api.Authorizers["Plain"]
	if !plain.Token || plain.TTL != 5*time.Minute || !slices.Equal(plain.Identity, []string{"method.request.header.Authorization"}) || plain.Function != "Other" {
		t.Errorf("%+v", plain)
	}
	full := api.Authorizers["Full"]
	if !full.Token || full.TTL != 30*time.Second || !slices.Equal(full.Identity, []string{"method.request.header.X-Key"}) {
		t.Errorf("%+v", full)
	}
	for name, c := range map[string]struct{ old, new, word string }{
		"a validation expression": {`"type":"token"`, `"type":"token","identityValidationExpression":"a"`, "validation expression"},
		"two sources":             {`"type":"token"`, `"type":"token","identitySource":"method.request.header.A, method.request.header.B"`, "TOKEN there is one"},
		"a query":                 {`"type":"token"`, `"type":"token","identitySource":"method.request.querystring.a"`, "only headers"},
		"no header":               {`"type":"token"`, `"type":"token","identitySource":"method.request.header."`, "only headers"},
		"another type":            {`"type":"token"`, `"type":"jwt"`, "REQUEST or TOKEN"},
	} {
		changed, err := altered(t, tpl, c.old, c.new).Resolve(translated.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := changed.API(); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPreflightsOfSAMsCorsAreServed reads the mock integration that SAM makes of Cors.
func TestPreflightsOfSAMsCorsAreServed(t *testing.T) {
	const cors = `StageName: live
      Cors: {AllowOrigin: "'https://app.example.com'", AllowHeaders: "'Authorization'", AllowMethods: "'GET'", MaxAge: "'600'"}`
	ssm := translated.Options{SSM: map[string]string{"/first/check": "arn:aws:lambda:us-east-1:000000000000:function:Check"}}
	want := &translated.Mock{Status: 200, Body: "{}\n", Header: http.Header{
		"Access-Control-Allow-Origin": {"https://app.example.com"}, "Access-Control-Allow-Headers": {"Authorization"},
		"Access-Control-Allow-Methods": {"GET"}, "Access-Control-Max-Age": {"600"},
	}}
	const openPreflight = "\n        AddDefaultAuthorizerToCorsPreflight: false"
	for setting, authorizer := range map[string]string{"": "A", openPreflight: ""} {
		text := strings.Replace(secondTemplate, "StageName: live", cors, 1)
		tpl, err := translate(t, strings.Replace(text, "DefaultAuthorizer: A", "DefaultAuthorizer: A"+setting, 1), ssm)
		if err != nil {
			t.Fatal(err)
		}
		api, err := tpl.API()
		if err != nil || len(api.Routes) != 2 {
			t.Fatalf("%q: %+v, %v", setting, api, err)
		}
		if preflight := api.Routes[1]; preflight.Method != "OPTIONS" || preflight.Authorizer != authorizer || !reflect.DeepEqual(preflight.Mock, want) {
			t.Errorf("%q: %+v", setting, preflight)
		}
		for old, other := range map[string]string{
			`"{}\n"`:                          `"#set($a)"`,                      // a body with an expression
			`"'600'"`:                         `"integration.response.header.x"`, // a header that is not constant
			`"default":{"responseParameters"`: `"4..":{"responseParameters"`,     // an answer for some statuses only
		} {
			changed, err := altered(t, tpl, old, other).Resolve(ssm)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := changed.API(); err == nil || !strings.Contains(err.Error(), "OPTIONS /x: a mock") {
				t.Errorf("%s: %v", other, err)
			}
		}
	}
}
