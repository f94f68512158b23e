package translated_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"latchkey/infra/template/translated"
)

const feedTemplate = `
Transform: AWS::Serverless-2016-10-31
Globals:
  Function: {Runtime: provided.al2023, Handler: bootstrap, CodeUri: f/, Timeout: 20}
Resources:
  Fanout:
    Type: AWS::Serverless::Function
    Properties:
      Role: !GetAtt Role.Arn
      Environment: {Variables: {URL: !Ref Jobs, NAME: !GetAtt Dead.QueueName, ARN: !GetAtt Dead.Arn, AT: !GetAtt Jobs.QueueUrl}}
      Events:
        Stream:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt Table.StreamArn
            StartingPosition: TRIM_HORIZON
            BatchSize: 25
            MaximumRetryAttempts: 5
            BisectBatchOnFunctionError: true
            FunctionResponseTypes: [ReportBatchItemFailures]
            FilterCriteria: {Filters: [{Pattern: '{"eventName":["INSERT"]}'}]}
            DestinationConfig: {OnFailure: {Type: SQS, Destination: !GetAtt Dead.Arn}}
  Deliver:
    Type: AWS::Serverless::Function
    Properties:
      Role: !GetAtt Role.Arn
      Events:
        Queue: {Type: SQS, Properties: {Queue: !GetAtt Jobs.Arn, BatchSize: 7, ScalingConfig: {MaximumConcurrency: 20}}}
  Jobs:
    Type: AWS::SQS::Queue
    Properties: {VisibilityTimeout: 180, DelaySeconds: 1, RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 5}}
  Dead: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub '${AWS::StackName}-dead', MessageRetentionPeriod: 1209600}}
  Role: {Type: AWS::IAM::Role, Properties: {AssumeRolePolicyDocument: {}}}
  Table: {Type: AWS::DynamoDB::Table, Properties: {StreamSpecification: {StreamViewType: NEW_IMAGE}}}
`

func feedOptions() translated.Options {
	return translated.Options{Physical: map[string]string{"Table": "rows"}, QueueEndpoint: "http://127.0.0.1:9"}
}

func TestEventSourcesAreReadFromTheTemplate(t *testing.T) {
	tpl, err := translate(t, feedTemplate, feedOptions())
	if err != nil {
		t.Fatal(err)
	}
	sources, err := tpl.EventSources()
	if err != nil || len(sources) != 2 {
		t.Fatalf("%+v, %v", sources, err)
	}
	deliver, fanout := sources[0], sources[1]
	if fanout.Name != "FanoutStream" || fanout.Function != "Fanout" || fanout.Table != "rows" || fanout.BatchSize != 25 ||
		fanout.Retries != 5 || !fanout.Bisect || !fanout.Partial || len(fanout.Filters) != 1 ||
		fanout.OnFailure != "http://127.0.0.1:9/000000000000/stack-dead" {
		t.Errorf("%+v", fanout)
	}
	if deliver.Function != "Deliver" || deliver.Queue != "http://127.0.0.1:9/000000000000/Jobs" || deliver.BatchSize != 7 || deliver.Concurrency != 20 || deliver.Visibility != 3*time.Minute ||
		deliver.Partial || deliver.Table != "" || deliver.ARN != "arn:aws:sqs:us-east-1:000000000000:Jobs" {
		t.Errorf("%+v", deliver)
	}
	queues, err := tpl.Queues()
	if err != nil || len(queues) != 2 {
		t.Fatalf("%+v, %v", queues, err)
	}
	dead, jobs := queues[0], queues[1]
	if dead.ID != "Dead" || dead.Name != "stack-dead" || dead.Attributes["MessageRetentionPeriod"] != "1209600" || dead.DeadLetters != "" {
		t.Errorf("%+v", dead)
	}
	if jobs.DeadLetters != dead.ARN || jobs.MaxReceives != 5 || !maps.Equal(jobs.Attributes, map[string]string{"VisibilityTimeout": "180", "DelaySeconds": "1"}) {
		t.Errorf("%+v", jobs)
	}
	functions, err := tpl.Functions()
	want := map[string]string{"URL": jobs.URL, "AT": jobs.URL, "NAME": "stack-dead", "ARN": "arn:aws:sqs:us-east-1:000000000000:stack-dead"}
	if err != nil || !maps.Equal(functions["Fanout"].Env, want) {
		t.Errorf("environment %v, %v", functions["Fanout"].Env, err)
	}
}

func TestAnUnknownSettingOfAnEventSourceIsNamed(t *testing.T) {
	whole, err := translate(t, feedTemplate, feedOptions())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, word string }{
		"another property":        {`"BatchSize":25`, `"BatchSize":25,"TumblingWindowInSeconds":5`, "TumblingWindowInSeconds"},
		"limit on a record's age": {`"BatchSize":25`, `"BatchSize":25,"MaximumRecordAgeInSeconds":60`, "MaximumRecordAgeInSeconds"},
		"another destination":     {`"Destination":{"Fn::GetAtt":["Dead","Arn"]}`, `"Destination":"arn:aws:sns:us-east-1:000000000000:topic"`, "topic"},
		"batch over the limit":    {`"BatchSize":7`, `"BatchSize":100`, "BatchSize is 100"},
		"filter of a queue":       {`"BatchSize":7`, `"BatchSize":7,"FilterCriteria":{"Filters":[{"Pattern":"{}"}]}`, "FilterCriteria"},
		"concurrency of one":      {`"MaximumConcurrency":20`, `"MaximumConcurrency":1`, "MaximumConcurrency is 1"},
		"table without stream":    {`{"StreamSpecification":{"StreamViewType":"NEW_IMAGE"}}`, `{"BillingMode":"PAY_PER_REQUEST"}`, "no StreamViewType"},
		"another stream":          {`{"Fn::GetAtt":["Table","StreamArn"]}`, `"arn:aws:kinesis:us-east-1:000000000000:stream/x"`, "kinesis"},
		"another starting point":  {`TRIM_HORIZON`, `AT_TIMESTAMP`, "AT_TIMESTAMP"},
		"visible too early":       {`"VisibilityTimeout":180`, `"VisibilityTimeout":19`, "VisibilityTimeout"},
		"FIFO queue":              {`"DelaySeconds":1`, `"FifoQueue":true`, "FifoQueue"},
		"dead after 0 receives":   {`"maxReceiveCount":5`, `"maxReceiveCount":0`, "maxReceiveCount"},
	} {
		tpl, err := altered(t, whole, c.old, c.new).Resolve(feedOptions())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, errSources := tpl.EventSources()
		_, errQueues := tpl.Queues()
		if output := errString(errSources) + errString(errQueues); !strings.Contains(output, c.word) {
			t.Errorf("%s: %q", name, output)
		}
	}
}

func TestDisabledEventSourceFeedsNothing(t *testing.T) {
	tpl, err := translate(t, strings.Replace(feedTemplate, "BatchSize: 7", "BatchSize: 7, Enabled: false", 1), feedOptions())
	if err != nil {
		t.Fatal(err)
	}
	if sources, err := tpl.EventSources(); err != nil || len(sources) != 1 || sources[0].Function != "Fanout" {
		t.Errorf("%+v, %v", sources, err)
	}
}

func errString(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestAStreamMayBeOfATableOutsideTheTemplate reads the stream of a restored table.
func TestAStreamMayBeOfATableOutsideTheTemplate(t *testing.T) {
	const restored = "arn:aws:dynamodb:us-east-1:000000000000:table/restored/stream/2026"
	tpl, err := translate(t, strings.Replace(feedTemplate, "!GetAtt Table.StreamArn", "'"+restored+"'", 1), feedOptions())
	if err != nil {
		t.Fatal(err)
	}
	if sources, err := tpl.EventSources(); err != nil || sources[1].Table != "restored" || sources[1].ARN != restored {
		t.Errorf("%+v, %v", sources, err)
	}
	if keys := tpl.HashKeys(); len(keys) != 2 { // of the template's table and of the restored one
		t.Errorf("tables %v", keys)
	}
}
