package translated

import (
	"fmt"
	"strings"
)

// ARN returns the ARN of a resource in the local stack's account.
func ARN(service, resource string) string {
	return "arn:aws:" + service + ":" + Region + ":" + AccountID + ":" + resource
}

// attributes has the values of GetAtt by type and attribute. %s is the value of Ref; for a queue see getAtt. Any other attribute is
// an error, because lint does not notice a misspelt attribute.
var attributes = map[string]string{
	"AWS::Lambda::Function.Arn":                        ARN("lambda", "function:%s"),
	"AWS::Lambda::Url.FunctionUrl":                     "https://%s.lambda-url." + Region + ".on.aws/",
	"AWS::IAM::Role.Arn":                               "arn:aws:iam::" + AccountID + ":role/%s",
	"AWS::DynamoDB::Table.Arn":                         ARN("dynamodb", "table/%s"),
	"AWS::DynamoDB::Table.StreamArn":                   ARN("dynamodb", "table/%s/stream/local"),
	"AWS::CloudWatch::Alarm.Arn":                       ARN("cloudwatch", "alarm:%s"),
	"AWS::ApiGateway::DomainName.RegionalDomainName":   "d-%s.execute-api." + Region + ".amazonaws.com",
	"AWS::ApiGateway::DomainName.RegionalHostedZoneId": "ZLOCAL",
	"AWS::WAFv2::WebACL.Arn":                           ARN("wafv2", "regional/webacl/%s/local"),
	"AWS::KMS::Key.Arn":                                ARN("kms", "key/%s"),
	"AWS::KMS::Key.KeyId":                              "%s",
	"AWS::Logs::LogGroup.Arn":                          ARN("logs", "log-group:%s:*"),
	"AWS::SQS::Queue.Arn":                              ARN("sqs", "%s"),
	"AWS::SQS::Queue.QueueName":                        "%s",
	"AWS::SQS::Queue.QueueUrl":                         "%s",
	"AWS::Events::Rule.Arn":                            ARN("events", "rule/%s"),
	"AWS::ApiGateway::RestApi.RootResourceId":          "root",
	"AWS::ApiGateway::RestApi.RestApiId":               "%s",
	"AWS::ApiGateway::Deployment.DeploymentId":         "%s",
}

// getAtt evaluates Fn::GetAtt, whose argument is "Resource.Attribute" or a list of these two.
func (r *resolver) getAtt(arg any) (any, error) {
	whole := strings.Join(Words(arg), ".")
	name, attribute, _ := strings.Cut(whole, ".")
	if v, ok := r.options.Attributes[whole]; ok {
		return v, nil
	}
	resource, ok := r.resources[name]
	if !ok {
		return nil, fmt.Errorf("GetAtt %s: there is no such resource", whole)
	}
	pattern, ok := attributes[fmt.Sprintf("%s.%s", resource["Type"], attribute)]
	if !ok {
		return nil, fmt.Errorf("GetAtt %s: the local stack knows no such attribute of an %v", whole, resource["Type"])
	}
	id, err := r.ref(name)
	// The Ref of a queue is its URL. The other attributes of a queue contain its name.
	if resource["Type"] == "AWS::SQS::Queue" && attribute != "QueueUrl" {
		id, err = r.queueName(name)
	}
	if err != nil {
		return nil, err
	}
	return strings.Replace(pattern, "%s", fmt.Sprint(id), 1), nil
}

// queueName returns the name of the queue with a logical id. The queue's properties may not be resolved yet.
func (r *resolver) queueName(id string) (string, error) {
	name, err := r.resolve(Object(r.resources[id]["Properties"])["QueueName"])
	return queueName(id, map[string]any{"QueueName": name}), err
}
