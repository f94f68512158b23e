package rehearsal_test

// What moto 5.2.5 does not do, so that nothing here proves it. An entry that it has
// outgrown fails a test. infra/template holds these properties to their values, and
// `make smoke` looks at AWS.

// unknown are types of resource that moto's CloudFormation does not know: they get a
// name, and nothing is made.
var unknown = []string{
	"AWS::ApiGateway::BasePathMapping", "AWS::ApiGateway::DomainName", "AWS::ApiGateway::Stage", "AWS::CloudWatch::Alarm",
	"AWS::Lambda::EventInvokeConfig", "AWS::WAFv2::WebACL", "AWS::WAFv2::WebACLAssociation",
}

// unread are properties of the others that moto leaves out when it makes one.
var unread = map[string][]string{
	"AWS::ApiGateway::RestApi": {"EndpointAccessMode", "FailOnWarnings", "Parameters", "SecurityPolicy"},
	"AWS::DynamoDB::Table":     {"PointInTimeRecoverySpecification", "TimeToLiveSpecification"},
	"AWS::Lambda::Function":    {"Architectures", "LoggingConfig", "RecursiveLoop", "Tags"},
}

// unchanged are types that it makes and cannot update: they stay as they were.
var unchanged = []string{"AWS::ApiGateway::RestApi", "AWS::DynamoDB::Table"}

// undeleted are types that it makes and cannot delete. They go with the function and
// the API that they belong to.
var undeleted = []string{"AWS::ApiGateway::Deployment", "AWS::Lambda::Permission"}

// listed is what parliament 1.6.4 reports of the roles and is right as it is, with the
// reason.
var listed = map[string]string{
	unknownCondition("DeliverRole", "kms:KeySpec", "kms:Sign"):         ofTheKey,
	unknownCondition("DeliverRole", "kms:KeyUsage", "kms:Sign"):        ofTheKey,
	unknownCondition("RotateRole", "kms:KeySpec", "kms:GetPublicKey"):  ofTheKey,
	unknownCondition("RotateRole", "kms:KeyUsage", "kms:GetPublicKey"): ofTheKey,
	unknownCondition("RotateRole", "kms:KeySpec", "kms:DisableKey"):    ofTheKey,
	unknownCondition("RotateRole", "kms:KeyUsage", "kms:DisableKey"):   ofTheKey,
	`FanoutRole RESOURCE_MISMATCH [{"action": "dynamodb:ListStreams", "required_format": "*"}]`: "AWS's guide gives Lambda the action " +
		`on table/…/stream/* ("IAM policy to allow an AWS Lambda function to access DynamoDB stream records"); its reference names no resource`,
}

func unknownCondition(role, key, action string) string {
	return role + ` UNKNOWN_CONDITION_FOR_ACTION "Unknown condition ` + key + ` for action ` + action + `"`
}

// ofTheKey: AWS's reference lists the condition for the type of resource "key", and not
// for the action. parliament looks at the action's only.
const ofTheKey = "a condition of the key"
