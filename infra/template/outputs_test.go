package template_test

import (
	"slices"
	"testing"
)

// outputs are the outputs that name a resource, with their values.
var outputs = map[string]string{
	"TableName":     `{"Fn::If":["Restored",{"Fn::Select":[1,{"Fn::Split":["/",{"Ref":"TableStreamArn"}]}]},{"Ref":"Table"}]}`,
	"SigningKeyArn": `{"Fn::GetAtt":["SigningKey","Arn"]}`, "RotateFunctionName": `{"Ref":"RotateFunction"}`,
	"AuthorizerFunctionName": `{"Ref":"AuthorizerFunction"}`, "SweepFunctionName": `{"Ref":"SweepFunction"}`, "SweepRuleName": `{"Ref":"SweepFunctionMinutely"}`,
	"DeliverRoleArn": `{"Fn::GetAtt":["DeliverRole","Arn"]}`, "DeliveryQueueUrl": `{"Ref":"DeliveryQueue"}`,
	"DeliveryDeadLettersUrl": `{"Ref":"DeliveryDeadLetters"}`, "FanoutDeadLettersUrl": `{"Ref":"FanoutDeadLetters"}`,
	"KeyAuthorizerArn": `{"Fn::GetAtt":["KeyAuthorizerFunction","Arn"]}`, "MemberAuthorizerArn": `{"Fn::GetAtt":["MemberAuthorizerFunction","Arn"]}`,
	"DomainTarget":   `{"Fn::Sub":"${Domain.RegionalDomainName} ${Domain.RegionalHostedZoneId}"}`,
	"ForwardAuthUrl": `{"Fn::GetAtt":["ForwardAuthFunctionUrl","FunctionUrl"]}`, "GuardPolicyArn": `{"Ref":"GuardPolicy"}`,
}

// otherOutputs are URLs and texts. Other tests read them.
var otherOutputs = []string{"ApiUrl", "ExecuteApiUrl", "LogGroups"}

// onlyIf lists the outputs with a condition. If the condition is false, the resource that the output names does not exist.
var onlyIf = map[string]string{"ExecuteApiUrl": "ExecuteApi", "DomainTarget": "OwnDomain", "ForwardAuthUrl": "ForwardAuthOn"}

func TestOutputsNameTheirResources(t *testing.T) {
	tpl := template(t)
	all := object(tpl.Raw["Outputs"])
	for name, o := range all {
		if condition, _ := object(o)["Condition"].(string); condition != onlyIf[name] {
			t.Errorf("%s has the condition %q, want %q", name, condition, onlyIf[name])
		}
	}
	for name, want := range outputs {
		if got := text(t, object(all[name])["Value"]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for name := range all {
		if _, ok := outputs[name]; !ok && !slices.Contains(otherOutputs, name) {
			t.Errorf("no test reads %s", name)
		}
	}
}
