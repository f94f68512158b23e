package template_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/infra/lab/translated"
)

func TestEventsAndDeliveriesReachTheirFunctions(t *testing.T) { holds(t, sources) }

func TestDeadLettersAreKeptAndWatched(t *testing.T) { holds(t, deadLetters) }

// events is the filter of the stream's mapping: new events, and no changes of events, which fan-out
// itself makes.
const events = `{"eventName":["INSERT"],"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"EVTS#"}]}}}}`

func sources(tpl *translated.Template) (wrong []string) {
	all, err := tpl.EventSources()
	if err != nil {
		return []string{err.Error()}
	}
	functions, err := tpl.Functions()
	if err != nil {
		return []string{err.Error()}
	}
	fed := map[string]bool{}
	for _, s := range all {
		fed[s.Function] = true
		if !s.Partial {
			wrong = append(wrong, s.Name+": a record that fails takes its whole batch along")
		}
		switch s.Function {
		case "FanoutFunction":
			if s.Table != "Table" || s.FromLatest || s.BatchSize != 25 || !s.Bisect || s.Retries != 5 || !slices.Equal(s.Filters, []string{events}) ||
				!strings.HasSuffix(s.OnFailure, "/FanoutDeadLetters") {
				wrong = append(wrong, fmt.Sprintf("%+v", s))
			}
		case "DeliverFunction":
			if !strings.HasSuffix(s.Queue, "/DeliveryQueue") || s.BatchSize != 10 || s.Concurrency != 10 {
				wrong = append(wrong, fmt.Sprintf("%+v", s))
			}
		default:
			wrong = append(wrong, fmt.Sprintf("%s is fed by %s", s.Function, s.Name))
		}
	}
	if len(all) != 2 || len(fed) != 2 {
		wrong = append(wrong, fmt.Sprintf("%d sources", len(all)))
	}
	visible := tpl.Resources["DeliveryQueue"].Properties["VisibilityTimeout"]
	if least := 6 * functions["DeliverFunction"].Timeout; fmt.Sprint(visible) != fmt.Sprint(int(least/time.Second)) {
		wrong = append(wrong, fmt.Sprintf("a message shows again after %v s, want six times the function's %s", visible, least/6))
	}
	return wrong
}

// deadLetters wants every queue of messages that our own code failed on to keep them as long as SQS
// can, and an alarm to watch it.
func deadLetters(tpl *translated.Template) (wrong []string) {
	watched := map[string]bool{}
	for _, name := range tpl.Named("AWS::CloudWatch::Alarm") {
		p := tpl.Resources[name].Properties
		for _, d := range list(p["Dimensions"]) {
			if p["MetricName"] == "ApproximateNumberOfMessagesVisible" && fmt.Sprint(p["Threshold"]) == "0" && p["ComparisonOperator"] == "GreaterThanThreshold" {
				watched[fmt.Sprint(object(d)["Value"])] = true
			}
		}
	}
	for _, name := range []string{"DeliveryDeadLetters", "FanoutDeadLetters"} {
		if !watched[name] {
			wrong = append(wrong, "no alarm watches "+name)
		}
		if kept := tpl.Resources[name].Properties["MessageRetentionPeriod"]; kept != float64(14*24*60*60) {
			wrong = append(wrong, fmt.Sprintf("%s keeps for %v s", name, kept))
		}
	}
	redrive := object(tpl.Resources["DeliveryQueue"].Properties["RedrivePolicy"])
	if !strings.HasSuffix(fmt.Sprint(redrive["deadLetterTargetArn"]), ":DeliveryDeadLetters") || fmt.Sprint(redrive["maxReceiveCount"]) != "5" {
		wrong = append(wrong, fmt.Sprint(redrive))
	}
	return wrong
}
