package translated_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/infra/lab/translated"
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
            Identity: {Header: X-Key, ValidationExpression: 'Bearer [a-z]+', ReauthorizeEvery: 30}
`

func TestTokenAuthorizerIsTheTemplates(t *testing.T) {
	tpl, err := translate(t, tokenTemplate, translated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	api, err := tpl.API()
	if err != nil {
		t.Fatal(err)
	}
	// SAM's defaults are the type TOKEN, and API Gateway's cache time.
	plain := api.Authorizers["Plain"]
	if !plain.Token || plain.TTL != 5*time.Minute || !slices.Equal(plain.Identity, []string{"method.request.header.Authorization"}) || plain.Validation != nil || plain.Function != "Other" {
		t.Errorf("%+v", plain)
	}
	full := api.Authorizers["Full"]
	if !full.Token || full.TTL != 30*time.Second || !slices.Equal(full.Identity, []string{"method.request.header.X-Key"}) {
		t.Errorf("%+v", full)
	}
	for token, valid := range map[string]bool{"Bearer a": true, "Bearer A": false, "a Bearer a": false} {
		if full.Validation.MatchString(token) != valid {
			t.Errorf("token %q", token)
		}
	}
	for name, c := range map[string]struct{ old, new, says string }{
		"no expression": {`Bearer [a-z]+`, `(`, "validation expression"},
		"two sources":   {`"type":"token"`, `"type":"token","identitySource":"method.request.header.A, method.request.header.B"`, "one header"},
		"a query":       {`"type":"token"`, `"type":"token","identitySource":"method.request.querystring.a"`, "one header"},
		"another type":  {`"type":"token"`, `"type":"jwt"`, "REQUEST or TOKEN"},
	} {
		changed, err := altered(t, tpl, c.old, c.new).Resolve(translated.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := changed.API(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
