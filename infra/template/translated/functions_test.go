package translated_test

import (
	"slices"
	"strings"
	"testing"

	"latchkey/infra/template/translated"
)

const urlTemplate = `
Transform: AWS::Serverless-2016-10-31
Parameters:
  Shown: {Type: String, Default: 'yes'}
  Limit: {Type: Number, Default: 7}
Conditions:
  IsShown: !Equals [!Ref Shown, 'yes']
Globals:
  Function: {Runtime: provided.al2023, Handler: bootstrap, CodeUri: f/}
Resources:
  Check:
    Type: AWS::Serverless::Function
    Condition: IsShown
    Properties: {FunctionUrlConfig: {AuthType: NONE}, ReservedConcurrentExecutions: !Ref Limit}
  Other:
    Type: AWS::Serverless::Function
    Properties:
      Environment: {Variables: {AT: !If [IsShown, !GetAtt CheckUrl.FunctionUrl, '']}}
Outputs:
  At: {Condition: IsShown, Value: !GetAtt CheckUrl.FunctionUrl}
`

func TestAFunctionURLIsReadFromTheTemplate(t *testing.T) {
	tpl, err := translate(t, urlTemplate, translated.Options{Attributes: map[string]string{"CheckUrl.FunctionUrl": "http://127.0.0.1:9/"}})
	if err != nil {
		t.Fatal(err)
	}
	urls, err := tpl.FunctionURLs()
	if err != nil || !slices.Equal(urls, []translated.FunctionURL{{ID: "CheckUrl", Function: "Check"}}) {
		t.Errorf("%v, %v", urls, err)
	}
	functions, err := tpl.Functions()
	if err != nil || tpl.Outputs["At"] != "http://127.0.0.1:9/" || functions["Other"].Env["AT"] != "http://127.0.0.1:9/" {
		t.Errorf("%v, %v, %v", tpl.Outputs, functions["Other"].Env, err)
	}
	if r := functions["Check"].Reserved; r == nil || *r != 7 || functions["Other"].Reserved != nil {
		t.Errorf("reserved: %v", r)
	}
	off, err := tpl.Resolve(translated.Options{Parameters: map[string]string{"Shown": "no"}})
	if err != nil {
		t.Fatal(err)
	}
	if urls, err := off.FunctionURLs(); err != nil || len(urls) != 0 || !slices.Equal(off.Declared(translated.URLType), []string{"CheckUrl"}) {
		t.Errorf("a condition that fails: %v, %v", urls, err)
	}
}

func TestABadFunctionURLIsNamed(t *testing.T) {
	tpl, err := translate(t, urlTemplate, translated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, word string }{
		"no right to the URL":       {`"Action":"lambda:InvokeFunctionUrl"`, `"Action":"lambda:InvokeFunction"`, "lambda:InvokeFunctionUrl"},
		"no right to the function":  {`"InvokedViaFunctionUrl":true`, `"InvokedViaFunctionUrl":false`, "InvokedViaFunctionUrl"},
		"right of one account only": {`"InvokedViaFunctionUrl":true,"Principal":"*"`, `"InvokedViaFunctionUrl":true,"Principal":"111122223333"`, "lambda:InvokeFunction,"},
		"another authentication":    {`"FunctionUrlAuthType":"NONE"`, `"FunctionUrlAuthType":"AWS_IAM"`, "FunctionUrlAuthType"},
		"signed requests":           {`"AuthType":"NONE"`, `"AuthType":"AWS_IAM"`, "AWS_IAM"},
		"CORS":                      {`"AuthType":"NONE"`, `"AuthType":"NONE","Cors":{"AllowOrigins":["*"]}`, "Cors"},
		"a streamed answer":         {`"AuthType":"NONE"`, `"AuthType":"NONE","InvokeMode":"RESPONSE_STREAM"`, "InvokeMode"},
		"an unknown function":       {`"TargetFunctionArn":{"Ref":"Check"}`, `"TargetFunctionArn":"Chess"`, "Chess"},
	} {
		changed, err := altered(t, tpl, c.old, c.new).Resolve(translated.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := changed.FunctionURLs(); err == nil || !strings.Contains(err.Error(), c.word) || !strings.Contains(err.Error(), "CheckUrl") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnotherAPINeedsAPermissionToCallAFunction(t *testing.T) {
	const template = `
Transform: AWS::Serverless-2016-10-31
Globals:
  Function: {CodeUri: f/, Runtime: provided.al2023, Handler: bootstrap}
Resources:
  Api:
    Type: AWS::Serverless::Api
    Properties:
      StageName: live
      Auth: {Authorizers: {A: {FunctionArn: !GetAtt Own.Arn, FunctionPayloadType: REQUEST, Identity: {ReauthorizeEvery: 0}}}}
  Own: {Type: AWS::Serverless::Function, Properties: {}}
  Shared: {Type: AWS::Serverless::Function, Properties: {}}
  Bare: {Type: AWS::Serverless::Function, Properties: {}}
  AnyAPI:
    Type: AWS::Lambda::Permission
    Properties:
      Action: lambda:InvokeFunction
      FunctionName: !Ref Shared
      Principal: apigateway.amazonaws.com
      SourceArn: !Sub 'arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:*/authorizers/*'
`
	tpl, err := translate(t, template, translated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		function   string
		own, other bool // the template's API may call the function; another API may
	}{
		{"Own", true, false},   // by the permission that SAM adds for its API
		{"Shared", true, true}, // by AnyAPI
		{"Bare", false, false}, // no permission
	} {
		if own, other := tpl.LetsAuthorize(c.function, ""), tpl.LetsAuthorize(c.function, "another"); own != c.own || other != c.other {
			t.Errorf("%s: own API %v, another %v", c.function, own, other)
		}
	}
	for _, change := range [][2]string{
		// AnyAPI for another principal
		{`"Principal":"apigateway.amazonaws.com","SourceArn":{"Fn::Sub":"arn:${AWS::P`, `"Principal":"*","SourceArn":{"Fn::Sub":"arn:${AWS::P`},
		// AnyAPI for the methods of an API, not for its authorizers
		{`:*/authorizers/*"`, `:*/live/*"`},
	} {
		changed, err := altered(t, tpl, change[0], change[1]).Resolve(translated.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if changed.LetsAuthorize("Shared", "another") {
			t.Errorf("with %s another API may call the function", change[1])
		}
	}
}
