package template_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/lab/translated"
	"latchkey/infra/tools"
	"latchkey/pkg/metric"
)

func TestAlarmsHaveTheirLimits(t *testing.T) { holds(t, alarms) }

func TestAlarmsReachTheTopicAndTheRunbook(t *testing.T) { holds(t, alarmsAreHeard) }

func TestOperatorsSeeEachAlarmAndMetric(t *testing.T) { holds(t, dashboard) }

func TestOperatorsSeeHowLongRequestsTake(t *testing.T) { holds(t, latency) }

// alarmList has every alarm with its metric and its limit, as the check alarms writes them.
var alarmList = map[string]string{
	"ApiErrorsAlarm": "(errors - FILL(unknown, 0) - FILL(services, 0)) / requests of AWS/ApiGateway 5XXError ApiName=latchkey Stage=live Sum of 300 s, " +
		"AWS/ApiGateway Count ApiName=latchkey Stage=live Sum of 300 s, " +
		"Latchkey ServiceIssuerFaults service=latchkey Sum of 300 s, Latchkey UnknownKeys service=latchkey Sum of 300 s > 0.01, 2 times, notBreaching",
	"AuthorizerErrorsAlarm": "FILL(api, 0) + FILL(keys, 0) + FILL(members, 0) + FILL(url, 0) - FILL(unknown, 0) - FILL(services, 0) of " +
		"AWS/Lambda Errors FunctionName=AuthorizerFunction Sum of 300 s, AWS/Lambda Errors FunctionName=ForwardAuthFunction Sum of 300 s, " +
		"AWS/Lambda Errors FunctionName=KeyAuthorizerFunction Sum of 300 s, AWS/Lambda Errors FunctionName=MemberAuthorizerFunction Sum of 300 s, " +
		"Latchkey ServiceIssuerFaults service=latchkey Sum of 300 s, Latchkey UnknownKeys service=latchkey Sum of 300 s > 0, 2 of 3 times, notBreaching",
	"AuthorizerThrottlesAlarm": "AWS/Lambda Throttles FunctionName=AuthorizerFunction: Sum of 60 s > 0, 2 times, notBreaching",
	"ConcurrencyAlarm": "100 * running / SERVICE_QUOTA(running) of AWS/Usage ResourceCount Class=None Resource=ConcurrentExecutions Service=Lambda " +
		"Type=Resource Maximum of 60 s > 80, 3 times, notBreaching",
	"ConsumersAlarm":           "AWS/Lambda Errors FunctionName=CheckConsumersFunction: Sum of 86400 s > 0, 1 times, notBreaching",
	"DeliveryDeadLettersAlarm": "AWS/SQS ApproximateNumberOfMessagesVisible QueueName=DeliveryDeadLetters: Maximum of 60 s > 0, 1 times, notBreaching",
	"DroppedRecursionAlarm":    "AWS/Lambda RecursiveInvocationsDropped FunctionName=DeliverFunction: Sum of 300 s > 0, 1 times, notBreaching",
	"FanoutDeadLettersAlarm":   "AWS/SQS ApproximateNumberOfMessagesVisible QueueName=FanoutDeadLetters: Maximum of 60 s > 0, 1 times, notBreaching",
	"FunctionThrottlesAlarm":   "all - FILL(url, 0) of AWS/Lambda Throttles FunctionName=ForwardAuthFunction Sum of 300 s, AWS/Lambda Throttles Sum of 300 s > 0, 2 times, notBreaching",
	"LeasesFailedAlarm":        "Latchkey LeasesFailed service=latchkey: Sum of 300 s > 0, 2 times, notBreaching",
	"OldestDueAlarm":           "Latchkey OldestDue service=latchkey: Maximum of 300 s > 600, 2 times, breaching",
	"QueueAgeAlarm":            "AWS/SQS ApproximateAgeOfOldestMessage QueueName=DeliveryQueue: Maximum of 300 s > 1800, 2 times, notBreaching",
	"RotateErrorsAlarm":        "AWS/Lambda Errors FunctionName=RotateFunction: Sum of 900 s > 0, 2 times, notBreaching",
	"SignFailuresAlarm":        "Latchkey SignFailures service=latchkey: Sum of 300 s > 0, 2 times, notBreaching",
	"StreamAgeAlarm":           "AWS/Lambda IteratorAge FunctionName=FanoutFunction: Maximum of 60 s > 60000, 5 times, notBreaching",
	"SweepErrorsAlarm":         "AWS/Lambda Errors FunctionName=SweepFunction: Sum of 300 s > 0, 3 times, notBreaching",
	"TapAgeAlarm":              "AWS/Lambda IteratorAge FunctionName=TapFunction: Maximum of 300 s > 600000, 2 times, notBreaching",
	"TableErrorsAlarm": "SUM(METRICS()) of AWS/DynamoDB ReadThrottleEvents TableName=Table Sum of 300 s, AWS/DynamoDB SystemErrors Operation=BatchGetItem TableName=Table Sum of 300 s, " +
		"AWS/DynamoDB SystemErrors Operation=GetItem TableName=Table Sum of 300 s, AWS/DynamoDB SystemErrors Operation=Query TableName=Table Sum of 300 s, " +
		"AWS/DynamoDB SystemErrors Operation=TransactWriteItems TableName=Table Sum of 300 s, AWS/DynamoDB SystemErrors Operation=UpdateItem TableName=Table Sum of 300 s, " +
		"AWS/DynamoDB WriteThrottleEvents GlobalSecondaryIndexName=due TableName=Table Sum of 300 s, AWS/DynamoDB WriteThrottleEvents TableName=Table Sum of 300 s > 0, 2 times, notBreaching",
}

// measured returns a metric with its dimensions as text.
func measured(p map[string]any) string {
	out := fmt.Sprint(p["Namespace"], " ", p["MetricName"])
	var dimensions []string
	for _, d := range list(p["Dimensions"]) {
		dimensions = append(dimensions, fmt.Sprint(" ", object(d)["Name"], "=", object(d)["Value"]))
	}
	slices.Sort(dimensions)
	return out + strings.Join(dimensions, "")
}

// computed returns an expression with its metrics as text.
func computed(p map[string]any) string {
	var expression string
	var metrics []string
	for _, m := range list(p["Metrics"]) {
		if e, ok := object(m)["Expression"].(string); ok {
			expression = e
			continue
		}
		s := object(object(m)["MetricStat"])
		stat := fmt.Sprintf("%s %v of %v s", measured(object(s["Metric"])), s["Stat"], s["Period"])
		if fmt.Sprint(object(m)["ReturnData"]) != "false" { // CloudWatch takes one result: that of the expression
			stat += ", returned"
		}
		metrics = append(metrics, stat)
	}
	slices.Sort(metrics)
	return expression + " of " + strings.Join(metrics, ", ")
}

func alarms(tpl *translated.Template) []string {
	got := map[string]string{}
	for _, name := range tpl.Named("AWS::CloudWatch::Alarm") {
		p := tpl.Resources[name].Properties
		what := fmt.Sprintf("%s: %v of %v s", measured(p), p["Statistic"], p["Period"])
		if p["Metrics"] != nil {
			what = computed(p)
		}
		limit := map[any]string{"GreaterThanThreshold": ">"}[p["ComparisonOperator"]] // no alarm has another operator
		times := fmt.Sprint(p["EvaluationPeriods"])
		if some := p["DatapointsToAlarm"]; some != nil {
			times = fmt.Sprint(some, " of ", times)
		}
		got[name] = fmt.Sprintf("%s %s %v, %s times, %v", what, limit, p["Threshold"], times, p["TreatMissingData"])
		if p["ActionsEnabled"] != nil { // it could keep the alarm silent
			got[name] += " switched"
		}
	}
	return differences("alarm", got, alarmList)
}

// runbook returns the titles of the runbook's sections, and its text.
func runbook() (sections []string, text string, err error) {
	root, err := tools.Root()
	if err != nil {
		return nil, "", err
	}
	b, err := os.ReadFile(filepath.Join(root, "infra", "docs", "runbook.md"))
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(b), -1) {
		sections = append(sections, m[1])
	}
	return sections, string(b), err
}

// alarmsAreHeard wants each alarm to tell the topic when it begins and when it ends, and its text to name
// a section of the runbook.
func alarmsAreHeard(tpl *translated.Template) (wrong []string) {
	sections, _, err := runbook()
	if err != nil {
		return []string{err.Error()}
	}
	topic := "[" + topicOfTests + "]"
	for _, name := range tpl.Named("AWS::CloudWatch::Alarm") {
		p := tpl.Resources[name].Properties
		if fmt.Sprint(p["AlarmActions"]) != topic || fmt.Sprint(p["OKActions"]) != topic {
			wrong = append(wrong, fmt.Sprintf("%s goes to %v and %v", name, p["AlarmActions"], p["OKActions"]))
		}
		_, section, _ := strings.Cut(fmt.Sprint(p["AlarmDescription"]), "Runbook: ")
		if !slices.Contains(sections, section) {
			wrong = append(wrong, fmt.Sprintf("%s: the runbook has no section %q", name, section))
		}
	}
	return wrong
}

// dashboard wants the dashboard to show each alarm and each metric of the code, and the runbook to
// explain each metric. Alarms in our own namespace must use metrics of the code.
func dashboard(tpl *translated.Template) (wrong []string) {
	body := fmt.Sprint(tpl.Resources["Dashboard"].Properties["DashboardBody"])
	if name := tpl.Resources["Dashboard"].Properties["DashboardName"]; name != stackOfTests+"-us-east-1" { // regions share these names
		wrong = append(wrong, fmt.Sprintf("the dashboard has the name %v", name))
	}
	var shown map[string]any
	if err := json.Unmarshal([]byte(body), &shown); err != nil {
		wrong = append(wrong, "the dashboard is no JSON: "+err.Error())
	}
	for name := range alarmList {
		if !strings.Contains(body, ":alarm:"+name+`"`) {
			wrong = append(wrong, "the dashboard does not show "+name)
		}
	}
	_, text, err := runbook()
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	known := map[string]bool{}
	for _, m := range metric.All() {
		known[m.Name] = true
		inExpression := strings.Contains(body, `\"`+m.Name+`\"`)
		if !strings.Contains(body, `"`+m.Name+`"`) && !inExpression {
			wrong = append(wrong, "the dashboard does not show "+m.Name)
		}
		if !strings.Contains(text, "| `"+m.Name+"` |") {
			wrong = append(wrong, "the runbook does not explain "+m.Name)
		}
	}
	for _, name := range tpl.Named("AWS::CloudWatch::Alarm") {
		p := tpl.Resources[name].Properties
		metrics := []map[string]any{p}
		for _, m := range list(p["Metrics"]) {
			metrics = append(metrics, object(object(object(m)["MetricStat"])["Metric"]))
		}
		for _, m := range metrics {
			if m["Namespace"] == metric.Namespace && !known[fmt.Sprint(m["MetricName"])] {
				wrong = append(wrong, fmt.Sprintf("%s looks at %v, which no code counts", name, m["MetricName"]))
			}
		}
	}
	return wrong
}

// latency wants a widget of the dashboard to show how long the API takes, and how long the functions behind the
// authorizer take, for 99 of 100 requests.
func latency(tpl *translated.Template) (wrong []string) {
	var shown map[string]any
	if err := json.Unmarshal([]byte(fmt.Sprint(tpl.Resources["Dashboard"].Properties["DashboardBody"])), &shown); err != nil {
		return []string{"the dashboard is no JSON: " + err.Error()}
	}
	var found []string
	for _, w := range list(shown["widgets"]) {
		p := object(object(w)["properties"])
		for _, m := range list(p["metrics"]) {
			if line := quoted(m); strings.Contains(line, "Latency") {
				found = append(found, fmt.Sprint(p["stat"], " ", line))
			}
		}
	}
	want := []string{
		`p99 ["AWS/ApiGateway","Latency","ApiName","latchkey","Stage","live"]`,
		`p99 ["AWS/ApiGateway","IntegrationLatency","ApiName","latchkey","Stage","live"]`,
	}
	if !slices.Equal(found, want) {
		wrong = append(wrong, fmt.Sprintf("the dashboard shows %q, want %q", found, want))
	}
	return wrong
}
