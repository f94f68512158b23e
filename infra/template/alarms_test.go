package template_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
	"latchkey/pkg/metric"
)

func TestAlarmsReachTheTopicAndTheRunbook(t *testing.T) { assertNone(t, checkAlarmActions) }

func TestOperatorsSeeEachAlarmAndMetric(t *testing.T) { assertNone(t, checkDashboard) }

func TestErrorsThatAnyoneCanCauseRingNoAlarm(t *testing.T) { assertNone(t, checkAtWill) }

func TestOperatorsSeeHowLongRequestsTake(t *testing.T) { assertNone(t, checkLatency) }

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

// checkAlarmActions checks that each alarm notifies the topic when it begins and when it ends, and that its text names a section of
// the runbook.
func checkAlarmActions(tpl *translated.Template) (faults []string) {
	sections, _, err := runbook()
	if err != nil {
		return []string{err.Error()}
	}
	topic := "[" + topicOfTests + "]"
	for _, name := range tpl.Named("AWS::CloudWatch::Alarm") {
		p := tpl.Resources[name].Properties
		if fmt.Sprint(p["AlarmActions"]) != topic || fmt.Sprint(p["OKActions"]) != topic {
			faults = append(faults, fmt.Sprintf("%s goes to %v and %v", name, p["AlarmActions"], p["OKActions"]))
		}
		_, section, _ := strings.Cut(fmt.Sprint(p["AlarmDescription"]), "Runbook: ")
		if !slices.Contains(sections, section) {
			faults = append(faults, fmt.Sprintf("%s: the runbook has no section %q", name, section))
		}
	}
	return faults
}

// checkDashboard checks that the dashboard shows each alarm and each metric of the code, and that the runbook explains each metric.
// Alarms in our own namespace must use metrics of the code.
func checkDashboard(tpl *translated.Template) (faults []string) {
	body := fmt.Sprint(tpl.Resources["Dashboard"].Properties["DashboardBody"])
	if name := tpl.Resources["Dashboard"].Properties["DashboardName"]; name != stackOfTests+"-us-east-1" { // the regions of an account share the names of dashboards
		faults = append(faults, fmt.Sprintf("the dashboard has the name %v", name))
	}
	var shown map[string]any
	if err := json.Unmarshal([]byte(body), &shown); err != nil {
		faults = append(faults, "the dashboard is not JSON: "+err.Error())
	}
	for _, name := range tpl.Named("AWS::CloudWatch::Alarm") {
		if !strings.Contains(body, ":alarm:"+name+`"`) {
			faults = append(faults, "the dashboard does not show "+name)
		}
	}
	_, text, err := runbook()
	if err != nil {
		faults = append(faults, err.Error())
	}
	known := map[string]bool{}
	for _, m := range metric.All() {
		known[m.Name] = true
		inExpression := strings.Contains(body, `\"`+m.Name+`\"`)
		if !strings.Contains(body, `"`+m.Name+`"`) && !inExpression {
			faults = append(faults, "the dashboard does not show "+m.Name)
		}
		if !strings.Contains(text, "| `"+m.Name+"` |") {
			faults = append(faults, "the runbook does not explain "+m.Name)
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
				faults = append(faults, fmt.Sprintf("%s reads the metric %v, which no code writes", name, m["MetricName"]))
			}
		}
	}
	return faults
}

// checkLatency checks that a widget of the dashboard shows the time of 99 in 100 requests, for the API and for the functions behind the
// authorizer.
func checkLatency(tpl *translated.Template) (faults []string) {
	var shown map[string]any
	if err := json.Unmarshal([]byte(fmt.Sprint(tpl.Resources["Dashboard"].Properties["DashboardBody"])), &shown); err != nil {
		return []string{"the dashboard is not JSON: " + err.Error()}
	}
	var found []string
	for _, w := range list(shown["widgets"]) {
		p := object(object(w)["properties"])
		for _, m := range list(p["metrics"]) {
			if line := asJSON(m); strings.Contains(line, "Latency") {
				found = append(found, fmt.Sprint(p["stat"], " ", line))
			}
		}
	}
	want := []string{
		`p99 ["AWS/ApiGateway","Latency","ApiName","latchkey","Stage","live"]`,
		`p99 ["AWS/ApiGateway","IntegrationLatency","ApiName","latchkey","Stage","live"]`,
	}
	if !slices.Equal(found, want) {
		faults = append(faults, fmt.Sprintf("the dashboard shows %q, want %q", found, want))
	}
	return faults
}

// atWill lists, for each alarm on errors, the metrics of errors that anyone can cause. Requests to a shared authorizer are no errors of
// our API: if ApiErrorsAlarm subtracted them, they would hide its own errors.
var atWill = map[string][]string{
	"AuthorizerErrorsAlarm": {"ServiceIssuerFaults", "SharedUnknownKeys", "UnknownKeys"},
	"ApiErrorsAlarm":        {"ServiceIssuerFaults", "UnknownKeys"},
}

// checkAtWill checks that each alarm on errors subtracts all its metrics in atWill and no others, and treats a missing one as 0.
func checkAtWill(tpl *translated.Template) (faults []string) {
	for _, name := range slices.Sorted(maps.Keys(atWill)) {
		var subtracted []string
		ids, terms := map[string]string{}, ""
		for _, v := range list(tpl.Resources[name].Properties["Metrics"]) {
			m := object(v)
			if m["Expression"] != nil {
				terms = fmt.Sprint(m["Expression"])
			}
			ids[fmt.Sprint(m["Id"])] = fmt.Sprint(object(object(m["MetricStat"])["Metric"])["MetricName"])
		}
		for _, term := range regexp.MustCompile(`- FILL\((\w+), 0\)`).FindAllStringSubmatch(terms, -1) {
			subtracted = append(subtracted, ids[term[1]])
		}
		slices.Sort(subtracted)
		if !slices.Equal(subtracted, atWill[name]) {
			faults = append(faults, fmt.Sprintf("%s subtracts %q, want %q: %s", name, subtracted, atWill[name], terms))
		}
	}
	return faults
}
