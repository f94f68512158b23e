package template

import (
	"fmt"
	"strings"
)

// alarm is an alarm on one metric of one resource. It rings when the metric is over max in each of the last periods.
type alarm struct {
	name, condition       string
	text                  string // the fault, and its section of infra/docs/runbook.md
	metric                string // NAMESPACE NAME
	dimension, resource   string
	statistic             string
	seconds, periods, max int    // the length of a period, the number of periods, the threshold
	missing               string // breaching: a period without data counts as over max
}

var alarms = []alarm{
	{"Consumers", "Alarms", "An API of the account can cache the answers of a shared authorizer, or the APIs cannot be read. Runbook: An API that could keep an answer", "AWS/Lambda Errors", "FunctionName", "!Ref CheckConsumersFunction", "Sum", 86400, 1, 0, "notBreaching"},
	{"AuthorizerThrottles", "Alarms", "Lambda throttles the authorizer: requests get 503. Runbook: Raising limits", "AWS/Lambda Throttles", "FunctionName", "!Ref AuthorizerFunction", "Sum", 60, 2, 0, "notBreaching"},
	{"SweepErrors", "Alarms", "The sweep fails on a row at each run. Runbook: A sweep that is stuck", "AWS/Lambda Errors", "FunctionName", "!Ref SweepFunction", "Sum", 300, 3, 0, "notBreaching"},
	{"RotateErrors", "Alarms", "No signing key can be made, read or disabled. Runbook: Webhooks cannot be signed", "AWS/Lambda Errors", "FunctionName", "!Ref RotateFunction", "Sum", 900, 2, 0, "notBreaching"},
	{"OldestDue", "Alarms", "A row is due for ten minutes, or the sweep does not run. Runbook: A sweep that is stuck", "Latchkey OldestDue", "service", "!Ref AWS::StackName", "Maximum", 300, 2, 600, "breaching"},
	{"SignFailures", "Alarms", "Webhooks cannot be signed, and wait. Runbook: Webhooks cannot be signed", "Latchkey SignFailures", "service", "!Ref AWS::StackName", "Sum", 300, 2, 0, "notBreaching"},
	{"LeasesFailed", "Alarms", "Requests of API keys with limits get 503, because leases cannot be written. Runbook: What a 503 means", "Latchkey LeasesFailed", "service", "!Ref AWS::StackName", "Sum", 300, 2, 0, "notBreaching"},
	{"StreamAge", "Alarms", "Events wait for their fan-out. Runbook: Webhooks are late", "AWS/Lambda IteratorAge", "FunctionName", "!Ref FanoutFunction", "Maximum", 60, 5, 60000, "notBreaching"},
	{"TapAge", "TapAlarms", "Events and audit entries wait for your bus, and are lost after a day. Runbook: A bus that takes nothing", "AWS/Lambda IteratorAge", "FunctionName", "!Ref TapFunction", "Maximum", 300, 2, 600000, "notBreaching"},
	{"QueueAge", "Alarms", "Webhooks wait to be sent, longer than the longest delay of the queue. Runbook: Webhooks are late", "AWS/SQS ApproximateAgeOfOldestMessage", "QueueName", "!GetAtt DeliveryQueue.QueueName", "Maximum", 300, 2, 1800, "notBreaching"},
	{"DroppedRecursion", "Alarms", "Lambda stops deliveries that queue their own next attempt. Runbook: Webhooks are late", "AWS/Lambda RecursiveInvocationsDropped", "FunctionName", "!Ref DeliverFunction", "Sum", 300, 1, 0, "notBreaching"},
	{"DeliveryDeadLetters", "Alarms", "Deliveries that failed in each try, or were throttled. Runbook: Dead letters", "AWS/SQS ApproximateNumberOfMessagesVisible", "QueueName", "!GetAtt DeliveryDeadLetters.QueueName", "Maximum", 60, 1, 0, "notBreaching"},
	{"FanoutDeadLetters", "Alarms", "Events whose fan-out failed in each try. Runbook: Dead letters", "AWS/SQS ApproximateNumberOfMessagesVisible", "QueueName", "!GetAtt FanoutDeadLetters.QueueName", "Maximum", 60, 1, 0, "notBreaching"},
}

// usualAlarms prints the alarms of the list. template.yaml has other alarms, which are written by hand.
func usualAlarms() string {
	var out []string
	for _, a := range alarms {
		namespace, metric, _ := strings.Cut(a.metric, " ")
		out = append(out, fmt.Sprintf(alarmForm, a.name, a.condition, a.text, namespace, metric, a.dimension, a.resource, a.statistic, a.seconds, a.periods, a.max, a.missing))
	}
	return strings.Join(out, "\n")
}

const alarmForm = `%sAlarm:
  Type: AWS::CloudWatch::Alarm
  Condition: %s
  Properties:
    AlarmDescription: '%s'
    Namespace: %s
    MetricName: %s
    Dimensions: [{ Name: %s, Value: %s }]
    Statistic: %s
    Period: %d
    EvaluationPeriods: %d
    Threshold: %d
    ComparisonOperator: GreaterThanThreshold
    TreatMissingData: %s
    AlarmActions: [!Ref AlarmTopicArn]
    OKActions: [!Ref AlarmTopicArn]
`
