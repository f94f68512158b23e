package rehearsal_test

// These lists have what moto 5.2.5 does not do, and what these tests therefore do not prove. A test
// fails for an entry that is no longer true. infra/template tests the values of these properties,
// and `make smoke` tests a deployment.

// unknown are types of resource that moto's CloudFormation does not know. It gives them a name and
// makes nothing.
var unknown = []string{
	"AWS::ApiGateway::BasePathMapping", "AWS::ApiGateway::DomainName", "AWS::ApiGateway::Stage", "AWS::CloudWatch::Alarm",
	"AWS::Lambda::EventInvokeConfig", "AWS::Lambda::Url", "AWS::WAFv2::WebACL", "AWS::WAFv2::WebACLAssociation",
}

// unread are properties of other types that moto ignores.
var unread = map[string][]string{
	"AWS::ApiGateway::RestApi": {"EndpointAccessMode", "FailOnWarnings", "Parameters", "SecurityPolicy"},
	"AWS::DynamoDB::Table":     {"PointInTimeRecoverySpecification", "TimeToLiveSpecification"},
	"AWS::Lambda::Function":    {"Architectures", "LoggingConfig", "RecursiveLoop", "Tags"},
}

// unchanged are types that moto can create and cannot update.
var unchanged = []string{"AWS::ApiGateway::RestApi", "AWS::DynamoDB::Table", "AWS::IAM::ManagedPolicy"}

// undeleted are types that moto can create and cannot delete. They go with their function or API.
var undeleted = []string{"AWS::ApiGateway::Deployment", "AWS::Lambda::Permission"}

// listed are findings of parliament 1.6.4 in the roles that are no faults, with the reason.
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

// ofTheKey is a reason: AWS's reference lists the condition for the type of resource "key", not for
// the action, and parliament reads only those of the action.
const ofTheKey = "a condition of the key"
