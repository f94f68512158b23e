package translated_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/infra/template/translated"
)

const toyTemplate = `
Transform: AWS::Serverless-2016-10-31
Parameters:
  Stage: {Type: String, Default: live}
  Loud: {Type: String, Default: 'no'}
  Rate: {Type: Number, Default: 10}
  Ids: {Type: CommaDelimitedList, Default: 'a, b'}
  Needed: {Type: String}
Conditions:
  IsLoud: !Equals [!Ref Loud, 'yes']
  IsQuiet: !Not [!Condition IsLoud]
  Both: !And [!Condition IsQuiet, !Equals [a, a]]
  Either: !Or [!Condition IsLoud, !Equals [a, b]]
Globals:
  Function: {Runtime: provided.al2023, Handler: bootstrap, Timeout: 6, Architectures: [x86_64]}
Resources:
  Api:
    Type: AWS::Serverless::Api
    Properties:
      StageName: !Ref Stage
      MethodSettings:
        - {HttpMethod: '*', ResourcePath: /*, ThrottlingRateLimit: !Ref Rate, ThrottlingBurstLimit: 5}
        - {HttpMethod: GET, ResourcePath: '/~1v1~1pets~1{petId}', ThrottlingRateLimit: 0.5, ThrottlingBurstLimit: 2}
        - {HttpMethod: POST, ResourcePath: /~1open, LoggingLevel: 'OFF'}
      Auth:
        DefaultAuthorizer: A
        AddDefaultAuthorizerToCorsPreflight: false
        Authorizers:
          A: {FunctionArn: !GetAtt Auth.Arn, FunctionPayloadType: REQUEST, Identity: {ReauthorizeEvery: 0}}
      GatewayResponses:
        ACCESS_DENIED:
          StatusCode: 401
          ResponseParameters: {Headers: {Content-Type: "'application/problem+json'"}}
          ResponseTemplates: {application/json: '{"code":"$context.authorizer.code"}'}
  Auth:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: functions/auth/, Role: !GetAtt Role.Arn}
  Pets:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/pets/
      Role: !GetAtt Role.Arn
      MemorySize: 256
      Environment:
        Variables:
          TABLE: !Ref Table
          KEY: !GetAtt Key.Arn
          IDS: !Join [';', !Ref Ids]
          LOUD: !If [IsLoud, 'very', !Ref 'AWS::NoValue']
          SUB: !Sub ['${Stage}/${X}/${!Literal}/${Table.Arn}', {X: !Ref Needed}]
          QUIET: !If [Both, !If [Either, 'wrong', 'right'], 'wrong']
      Events:
        List: {Type: Api, Properties: {RestApiId: !Ref Api, Path: /v1/pets, Method: GET}}
        Get: {Type: Api, Properties: {RestApiId: !Ref Api, Path: '/v1/pets/{petId}', Method: GET}}
        Open: {Type: Api, Properties: {RestApiId: !Ref Api, Path: /open, Method: POST, Auth: {Authorizer: NONE}}}
        Tick: {Type: Schedule, Properties: {Schedule: rate(15 minutes)}}
        Tock: {Type: Schedule, Properties: {Schedule: rate(1 hour)}}
  Role: {Type: AWS::IAM::Role, Properties: {AssumeRolePolicyDocument: {}}}
  Key: {Type: AWS::KMS::Key, Properties: {KeySpec: ECC_NIST_P256}}
  Table: {Type: AWS::DynamoDB::Table, Properties: {BillingMode: PAY_PER_REQUEST}}
  Horn: {Type: AWS::SQS::Queue, Condition: IsLoud}
Outputs:
  Url: {Value: !Sub 'https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}/${Stage}'}
`

func translate(t *testing.T, text string, o translated.Options) (*translated.Template, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return translated.Translate(context.Background(), path, o)
}

// altered returns the translated document with one text replaced by another. It does not run SAM again, because SAM
// does not change these texts.
func altered(t *testing.T, tpl *translated.Template, from, to string) *translated.Template {
	t.Helper()
	text, err := json.Marshal(tpl.Raw)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), from, to, 1)
	if changed == string(text) {
		t.Fatalf("there is no %s in %s", from, text)
	}
	out := *tpl
	out.Raw = nil
	if err := json.Unmarshal([]byte(changed), &out.Raw); err != nil {
		t.Fatal(err)
	}
	return &out
}

func options() translated.Options {
	return translated.Options{
		Parameters: map[string]string{"Needed": "given"}, Physical: map[string]string{"Table": "rows"},
		Attributes: map[string]string{"Key.Arn": "arn:key"},
	}
}

func TestEveryReferenceIsResolved(t *testing.T) {
	tpl, err := translate(t, toyTemplate, options())
	if err != nil {
		t.Fatal(err)
	}
	functions, err := tpl.Functions()
	if err != nil {
		t.Fatal(err)
	}
	pets := functions["Pets"]
	want := map[string]string{ // without LOUD, whose value is AWS::NoValue
		"TABLE": "rows", "KEY": "arn:key", "IDS": "a;b", "QUIET": "right",
		"SUB": "live/given/${Literal}/arn:aws:dynamodb:us-east-1:000000000000:table/rows",
	}
	if !maps.Equal(pets.Env, want) {
		t.Errorf("environment %v, want %v", pets.Env, want)
	}
	if pets.CodeURI != "functions/pets/" || pets.Timeout != 6*time.Second || pets.Memory != 256 {
		t.Errorf("%+v", pets)
	}
	if _, there := tpl.Resources["Horn"]; there {
		t.Error("a resource with a false condition exists")
	}
	if url := tpl.Outputs["Url"]; url != "https://local.execute-api.us-east-1.amazonaws.com/live" {
		t.Errorf("output %s", url)
	}
	schedules, err := tpl.Schedules()
	if err != nil || len(schedules) != 2 || schedules[0].Every != 15*time.Minute || schedules[1].Every != time.Hour || schedules[0].Function != "Pets" {
		t.Errorf("schedules %+v, %v", schedules, err)
	}
}

func TestTheAPIIsReadFromTheTemplate(t *testing.T) {
	tpl, err := translate(t, toyTemplate, options())
	if err != nil {
		t.Fatal(err)
	}
	api, err := tpl.API()
	if err != nil {
		t.Fatal(err)
	}
	want := []translated.Route{
		{Method: "POST", Path: "/open", Function: "Pets"},
		{Method: "GET", Path: "/v1/pets", Function: "Pets", Authorizer: "A"},
		{Method: "GET", Path: "/v1/pets/{petId}", Function: "Pets", Authorizer: "A"},
	}
	if !slices.Equal(api.Routes, want) {
		t.Errorf("routes %+v", api.Routes)
	}
	if a := api.Authorizers["A"]; a.Function != "Auth" || a.TTL != 0 || len(a.Identity) != 0 {
		t.Errorf("authorizer %+v", a)
	}
	r := api.Responses["ACCESS_DENIED"]
	if api.Stage != "live" || r.Status != 401 || r.Parameters["gatewayresponse.header.Content-Type"] != "'application/problem+json'" {
		t.Errorf("stage %s, response %+v", api.Stage, r)
	}
	cached := strings.Replace(toyTemplate, "ReauthorizeEvery: 0", "ReauthorizeEvery: 300, Headers: [Authorization]", 1)
	if tpl, err = translate(t, cached, options()); err != nil {
		t.Fatal(err)
	}
	if api, err = tpl.API(); err != nil || api.Authorizers["A"].TTL != 5*time.Minute || !slices.Equal(api.Authorizers["A"].Identity, []string{"method.request.header.Authorization"}) {
		t.Errorf("cached authorizer %+v, %v", api.Authorizers, err)
	}
}

// TestMistakesInTheTemplateStopTheStart tries mistakes that lint accepts.
func TestMistakesInTheTemplateStopTheStart(t *testing.T) {
	tpl, err := translate(t, toyTemplate, options())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, word string }{
		"GetAtt of a name that is not there": {`["Key","Arn"]`, `["Kez","Arn"]`, "Kez"},
		"attribute that is not there":        {`["Key","Arn"]`, `["Key","Arm"]`, "Key.Arm"},
		"Ref of a name that is not there":    {`{"Ref":"Table"}`, `{"Ref":"Tabel"}`, "Tabel"},
		"Ref of a resource that is off":      {`{"Ref":"Needed"}`, `{"Ref":"Horn"}`, "Horn"},
		"Sub of a name that is not there":    {`"${Stage}/`, `"${Stag}/`, "Stag"},
		"condition that is not there":        {`{"Fn::If":["IsLoud"`, `{"Fn::If":["IsLod"`, "IsLod"},
		"condition of itself":                {`{"Fn::Not":[{"Condition":"IsLoud"}]}`, `{"Fn::Not":[{"Condition":"IsQuiet"}]}`, "IsQuiet refers to itself"},
		"value that is not in the list":      {`{"Ref":"Needed"}`, `{"Fn::Select":[2,{"Ref":"Ids"}]}`, "Fn::Select"},
		"text that is cut at nothing":        {`{"Ref":"Needed"}`, `{"Fn::Split":["",{"Ref":"Needed"}]}`, "Fn::Split"},
		"function the stack does not know":   {`{"Ref":"Needed"}`, `{"Fn::Base64":"x"}`, "Fn::Base64"},
	} {
		if _, err := altered(t, tpl, c.old, c.new).Resolve(options()); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tpl.Resolve(translated.Options{}); err == nil || !strings.Contains(err.Error(), "Needed") {
		t.Errorf("a parameter without value: %v", err)
	}
	o := options()
	o.Parameters["Nedeed"] = "x"
	if _, err := tpl.Resolve(o); err == nil || !strings.Contains(err.Error(), "Nedeed") {
		t.Errorf("a parameter that is not there: %v", err)
	}
}

func TestUnknownAuthorizerOfARouteStopsTheStart(t *testing.T) {
	tpl, err := translate(t, toyTemplate, options())
	if err != nil {
		t.Fatal(err)
	}
	body := tpl.Resources["Api"].Properties["Body"].(map[string]any)
	get := body["paths"].(map[string]any)["/v1/pets"].(map[string]any)["get"].(map[string]any)
	get["security"] = []any{map[string]any{"B": []any{}}}
	if _, err := tpl.API(); err == nil || !strings.Contains(err.Error(), `"B"`) {
		t.Errorf("%v", err)
	}
}
