package translated_test

import (
	"maps"
	"strings"
	"testing"

	"latchkey/infra/template/translated"
)

const firstTemplate = `
Transform: AWS::Serverless-2016-10-31
Parameters:
  Hidden: {Type: String, Default: 'no'}
Conditions:
  IsHidden: !Equals [!Ref Hidden, 'yes']
Resources:
  Check: {Type: AWS::Serverless::Function, Properties: {CodeUri: f/, Runtime: provided.al2023, Handler: bootstrap}}
  Named: {Type: AWS::SSM::Parameter, Properties: {Name: !Sub '/${AWS::StackName}/check', Type: String, Value: !GetAtt Check.Arn}}
  Absent: {Type: AWS::SSM::Parameter, Condition: IsHidden, Properties: {Name: /absent, Type: String, Value: x}}
`

const secondTemplate = `
Transform: AWS::Serverless-2016-10-31
Parameters:
  Arn: {Type: 'AWS::SSM::Parameter::Value<String>', Default: /first/check}
Resources:
  Api:
    Type: AWS::Serverless::Api
    Properties:
      StageName: live
      Auth:
        DefaultAuthorizer: A
        Authorizers:
          A: {FunctionArn: !Ref Arn, FunctionPayloadType: REQUEST, DisableFunctionDefaultPermissions: true, Identity: {ReauthorizeEvery: 0}}
  Check:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: g/
      Runtime: nodejs20.x
      Handler: index.handler
      Events: {Get: {Type: Api, Properties: {RestApiId: !Ref Api, Path: /x, Method: GET}}}
Outputs:
  Own: {Value: !GetAtt Check.Arn}
  Other: {Value: !Ref Arn}
`

// TestATemplateCanNameAFunctionOfAnother reads two templates with a function Check. The prefix of the second keeps them apart.
func TestATemplateCanNameAFunctionOfAnother(t *testing.T) {
	first, err := translate(t, firstTemplate, translated.Options{StackName: "first"})
	if err != nil {
		t.Fatal(err)
	}
	ssm := first.SSMParameters()
	if want := map[string]string{"/first/check": "arn:aws:lambda:us-east-1:000000000000:function:Check"}; !maps.Equal(ssm, want) {
		t.Fatalf("parameters %v, want %v", ssm, want)
	}
	second, err := translate(t, secondTemplate, translated.Options{SSM: ssm, FunctionPrefix: "second-"})
	if err != nil {
		t.Fatal(err)
	}
	api, err := second.API()
	if err != nil || api.Routes[0].Function != "second-Check" || api.Authorizers["A"].Function != "Check" {
		t.Errorf("%+v, %v", api, err)
	}
	functions, err := second.Functions()
	if f := functions["second-Check"]; err != nil || f.Name != "second-Check" || !f.Interpreted() || f.Handler != "index.handler" || f.CodeURI != "g/" {
		t.Errorf("%+v, %v", functions, err)
	}
	if own := second.Outputs["Own"]; own != "arn:aws:lambda:us-east-1:000000000000:function:second-Check" || second.Outputs["Other"] != ssm["/first/check"] {
		t.Errorf("%v", second.Outputs)
	}
	// The parameter Arn names another parameter in the Systems Manager than by default.
	given, err := translate(t, secondTemplate, translated.Options{SSM: map[string]string{"/mine": ssm["/first/check"]}, Parameters: map[string]string{"Arn": "/mine"}})
	if err != nil || given.Outputs["Other"] != ssm["/first/check"] {
		t.Errorf("a name that is given: %v", err)
	}
}

func TestAnSSMParameterWithoutAValueIsAnError(t *testing.T) {
	for text, word := range map[string]string{
		secondTemplate: "/first/check", // the Systems Manager has no such parameter
		strings.Replace(secondTemplate, "Value<String>", "Value<List<String>>", 1): "Value<List<String>>",
		strings.Replace(secondTemplate, "Value<String>", "Name", 1):                "Parameter::Name",
	} {
		if _, err := translate(t, text, translated.Options{}); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v", err)
		}
	}
}

// TestParametersAreCheckedAsOnAWS checks that a value which CloudFormation would refuse is an error here too.
func TestParametersAreCheckedAsOnAWS(t *testing.T) {
	const declared = `
Parameters:
  Org: {Type: String, Default: '', AllowedPattern: '(org_[0-9a-z]{4})?'}
  Switch: {Type: String, Default: 'false', AllowedValues: ['true', 'false']}
  Days: {Type: Number, Default: 7, AllowedValues: [1, 7]}
  Limit: {Type: Number, Default: 5, MinValue: 1, MaxValue: 9}
  Names: {Type: CommaDelimitedList, Default: a, AllowedPattern: '[a-z]'}
  Java: {Type: String, Default: '', AllowedPattern: '(?!x).*'}` // Go's regexp cannot compile (?!
	text := strings.Replace(firstTemplate, "\nParameters:", declared, 1)
	for _, good := range []map[string]string{
		{"Org": "", "Switch": "true", "Days": "1", "Limit": "1", "Names": "a", "Java": "anything"}, {"Org": "org_ab12", "Limit": "9", "Names": "a,b"},
	} {
		if _, err := translate(t, text, translated.Options{Parameters: good}); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for name, bad := range map[string][]string{
		"Org": {"acme", "org_ab12x", "xorg_ab12", "org_ab12\n"}, "Switch": {"yes", ""}, "Days": {"2", "x"}, "Limit": {"0", "10", ""}, "Names": {"a,B", "a,"},
	} {
		for _, value := range bad {
			if _, err := translate(t, text, translated.Options{Parameters: map[string]string{name: value}}); err == nil || !strings.Contains(err.Error(), "parameter "+name) {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
	}
}

func TestAnUnsupportedRuntimeIsNamed(t *testing.T) {
	tpl, err := translate(t, firstTemplate, translated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{`"Runtime":"provided.al2023"`, `"Runtime":"java21"`}, {`"Handler":"bootstrap"`, `"Handler":"main"`}} {
		changed, err := altered(t, tpl, c[0], c[1]).Resolve(translated.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := changed.Functions(); err == nil || !strings.Contains(err.Error(), "function Check: runtime") {
			t.Errorf("%s: %v", c[1], err)
		}
	}
}
