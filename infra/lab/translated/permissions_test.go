package translated_test

import (
	"testing"

	"latchkey/infra/lab/translated"
)

func TestOnlyAPermissionLetsAnotherAPIAskAFunction(t *testing.T) {
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
		own, other bool
	}{{"Own", true, false}, {"Shared", true, true}, {"Bare", false, false}} {
		if own, other := tpl.LetsAuthorize(c.function, ""), tpl.LetsAuthorize(c.function, "another"); own != c.own || other != c.other {
			t.Errorf("%s: own API %v, another %v", c.function, own, other)
		}
	}
	for _, change := range [][2]string{
		{`"Principal":"apigateway.amazonaws.com","SourceArn":{"Fn::Sub":"arn:${AWS::P`, `"Principal":"*","SourceArn":{"Fn::Sub":"arn:${AWS::P`},
		{`:*/authorizers/*"`, `:*/live/*"`},
	} {
		changed, err := altered(t, tpl, change[0], change[1]).Resolve(translated.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if changed.LetsAuthorize("Shared", "another") {
			t.Errorf("%s lets it", change[1])
		}
	}
}
