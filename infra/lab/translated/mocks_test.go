package translated_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"latchkey/infra/lab/translated"
)

// TestPreflightsOfSAMsCorsAreServed reads the mock integration that SAM makes of Cors.
func TestPreflightsOfSAMsCorsAreServed(t *testing.T) {
	const cors = `StageName: live
      Cors: {AllowOrigin: "'https://app.example.com'", AllowHeaders: "'Authorization'", AllowMethods: "'GET'", MaxAge: "'600'"}`
	ssm := translated.Options{SSM: map[string]string{"/first/check": "arn:aws:lambda:us-east-1:000000000000:function:Check"}}
	want := &translated.Mock{Status: 200, Body: "{}\n", Header: http.Header{
		"Access-Control-Allow-Origin": {"https://app.example.com"}, "Access-Control-Allow-Headers": {"Authorization"},
		"Access-Control-Allow-Methods": {"GET"}, "Access-Control-Max-Age": {"600"},
	}}
	for setting, authorizer := range map[string]string{"": "A", "\n        AddDefaultAuthorizerToCorsPreflight: false": ""} {
		text := strings.Replace(secondTemplate, "StageName: live", cors, 1)
		tpl, err := translate(t, strings.Replace(text, "DefaultAuthorizer: A", "DefaultAuthorizer: A"+setting, 1), ssm)
		if err != nil {
			t.Fatal(err)
		}
		api, err := tpl.API()
		if err != nil || len(api.Routes) != 2 || api.Routes[1].Method != "OPTIONS" || api.Routes[1].Authorizer != authorizer || !reflect.DeepEqual(api.Routes[1].Mock, want) {
			t.Errorf("%q: %+v, %v", setting, api, err)
		}
		for old, other := range map[string]string{`"{}\n"`: `"#set($a)"`, `"'600'"`: `"integration.response.header.x"`, `"default":{"responseParameters"`: `"4..":{"responseParameters"`} {
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
