package translated

import (
	"fmt"
	"strings"

	"latchkey/infra/lab/backing"
)

// attributes are the values of GetAtt by type and attribute. %s is the value of Ref. Another
// attribute stops the start, because lint does not notice a misspelt one.
var attributes = map[string]string{
	"AWS::Lambda::Function.Arn":                        "arn:aws:lambda:" + backing.Region + ":" + AccountID + ":function:%s",
	"AWS::Lambda::Url.FunctionUrl":                     "https://%s.lambda-url." + backing.Region + ".on.aws/",
	"AWS::IAM::Role.Arn":                               "arn:aws:iam::" + AccountID + ":role/%s",
	"AWS::DynamoDB::Table.Arn":                         "arn:aws:dynamodb:" + backing.Region + ":" + AccountID + ":table/%s",
	"AWS::DynamoDB::Table.StreamArn":                   "arn:aws:dynamodb:" + backing.Region + ":" + AccountID + ":table/%s/stream/local",
	"AWS::CloudWatch::Alarm.Arn":                       "arn:aws:cloudwatch:" + backing.Region + ":" + AccountID + ":alarm:%s",
	"AWS::ApiGateway::DomainName.RegionalDomainName":   "d-%s.execute-api." + backing.Region + ".amazonaws.com",
	"AWS::ApiGateway::DomainName.RegionalHostedZoneId": "ZLOCAL",
	"AWS::WAFv2::WebACL.Arn":                           "arn:aws:wafv2:" + backing.Region + ":" + AccountID + ":regional/webacl/%s/local",
	"AWS::KMS::Key.Arn":                                "arn:aws:kms:" + backing.Region + ":" + AccountID + ":key/%s",
	"AWS::KMS::Key.KeyId":                              "%s",
	"AWS::Logs::LogGroup.Arn":                          "arn:aws:logs:" + backing.Region + ":" + AccountID + ":log-group:%s:*",
	"AWS::SQS::Queue.Arn":                              "arn:aws:sqs:" + backing.Region + ":" + AccountID + ":%s",
	"AWS::SQS::Queue.QueueName":                        "%s",
	"AWS::SQS::Queue.QueueUrl":                         "%s",
	"AWS::Events::Rule.Arn":                            "arn:aws:events:" + backing.Region + ":" + AccountID + ":rule/%s",
	"AWS::Scheduler::Schedule.Arn":                     "arn:aws:scheduler:" + backing.Region + ":" + AccountID + ":schedule/default/%s",
	"AWS::ApiGateway::RestApi.RootResourceId":          "root",
	"AWS::ApiGateway::RestApi.RestApiId":               "%s",
	"AWS::ApiGateway::Deployment.DeploymentId":         "%s",
}

func (r *resolver) getAtt(arg any) (any, error) {
	var name, attribute string
	switch arg := arg.(type) {
	case string:
		name, attribute, _ = strings.Cut(arg, ".")
	case []any:
		if len(arg) == 2 {
			name, _ = arg[0].(string)
			attribute, _ = arg[1].(string)
		}
	}
	if v, ok := r.options.Attributes[name+"."+attribute]; ok {
		return v, nil
	}
	resource, ok := r.resources[name]
	if !ok {
		return nil, fmt.Errorf("GetAtt %s.%s: there is no such resource", name, attribute)
	}
	pattern, ok := attributes[fmt.Sprintf("%s.%s", resource["Type"], attribute)]
	if !ok {
		return nil, fmt.Errorf("GetAtt %s.%s: the local stack knows no such attribute of an %v", name, attribute, resource["Type"])
	}
	id, err := r.ref(name)
	if resource["Type"] == "AWS::SQS::Queue" && attribute != "QueueUrl" {
		id, err = r.queueName(name)
	}
	if err != nil {
		return nil, err
	}
	return strings.Replace(pattern, "%s", fmt.Sprint(id), 1), nil
}

// queueName returns the name of the queue with that logical id.
func (r *resolver) queueName(id string) (string, error) {
	properties, _ := r.resources[id]["Properties"].(map[string]any)
	name, err := r.resolve(properties["QueueName"])
	return queueName(id, map[string]any{"QueueName": name}), err
}
