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
