package template_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/infra/template/translated"
)

func TestEventsAndDeliveriesReachTheirFunctions(t *testing.T) { assertNone(t, checkSources) }

// eventsAndNotices is the filter of fan-out's mapping: new events and notices. It leaves out changes, because fan-out makes them itself.
const eventsAndNotices = `{"eventName":["INSERT"],"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"EVTS#"},{"prefix":"NOTE#"}]}}}}`

// eventsAndEntries is the filter of the tap's mapping.
const eventsAndEntries = `{"eventName":["INSERT"],"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"EVTS#"},{"prefix":"AUD#"}]}}}}`

func checkSources(tpl *translated.Template) (faults []string) {
	all, err := tpl.EventSources()
	if err != nil {
		return []string{err.Error()}
	}
	functions, err := tpl.Functions()
	if err != nil {
		return []string{err.Error()}
	}
	fed := map[string]bool{} // functions that have a source
	for _, s := range all {
		fed[s.Function] = true
		if !s.Partial {
			faults = append(faults, s.Name+": one failed record makes its whole batch fail")
		}
		switch s.Function {
		case "FanoutFunction":
			readsEvents := s.Table == "Table" && s.BatchSize == 25 && slices.Equal(s.Filters, []string{eventsAndNotices})
			keepsFailures := s.Bisect && s.Retries == 5 && strings.HasSuffix(s.OnFailure, "/FanoutDeadLetters")
			if !readsEvents || !keepsFailures {
				faults = append(faults, fmt.Sprintf("%+v", s))
			}
		case "TapFunction":
			readsAll := s.Table == "Table" && s.BatchSize == 25 && slices.Equal(s.Filters, []string{eventsAndEntries})
			if !readsAll || s.Retries != -1 || s.OnFailure != "" {
				faults = append(faults, fmt.Sprintf("%+v", s))
			}
		case "DeliverFunction":
			if !strings.HasSuffix(s.Queue, "/DeliveryQueue") || s.BatchSize != 10 || s.Concurrency != 10 {
				faults = append(faults, fmt.Sprintf("%+v", s))
			}
		default:
			faults = append(faults, fmt.Sprintf("%s is fed by %s", s.Function, s.Name))
		}
	}
	if len(all) != 3 || len(fed) != 3 {
		faults = append(faults, fmt.Sprintf("%d sources", len(all)))
	}
	visible := tpl.Resources["DeliveryQueue"].Properties["VisibilityTimeout"]
	timeout := functions["DeliverFunction"].Timeout
	if fmt.Sprint(visible) != fmt.Sprint(int(6*timeout/time.Second)) { // AWS's guide recommends six times
		faults = append(faults, fmt.Sprintf("a message shows again after %v s, want six times the function's %s", visible, timeout))
	}
	return faults
}

func TestAllResourcesUseARestoredTable(t *testing.T) { assertNone(t, checkRestored) }

// checkRestored compares a stack with TableStreamArn, which uses a restored table, with a stack that uses its own table. They must
// differ only in the table's name. In the first stack only the resource Table may have the name of the stack's own table.
func checkRestored(tpl *translated.Template) (faults []string) {
	const own, other = "own-table", "restored-table"
	onOwn, err := onTable(tpl, own, "")
	if err != nil {
		return []string{err.Error()}
	}
	onOther, err := onTable(tpl, own, "arn:aws:dynamodb:us-east-1:000000000000:table/"+other+"/stream/local")
	if err != nil {
		return []string{err.Error()}
	}
	if onOwn["output TableName"] != `"`+own+`"` {
		faults = append(faults, "the output TableName is "+onOwn["output TableName"])
	}
	for _, name := range slices.Sorted(maps.Keys(onOther)) {
		switch {
		case name == "Table":
		case strings.Contains(onOther[name], own):
			faults = append(faults, name+" refers to the stack's own table: "+onOther[name])
		case strings.ReplaceAll(onOther[name], other, own) != onOwn[name]:
			faults = append(faults, fmt.Sprintf("%s is %s, and without TableStreamArn %s", name, onOther[name], onOwn[name]))
		}
	}
	if len(onOther) != len(onOwn) {
		faults = append(faults, fmt.Sprintf("%d resources and outputs, and without TableStreamArn %d", len(onOther), len(onOwn)))
	}
	return faults
}

// onTable returns the resources and outputs, as text, of a stack with this name of its own table
// and this TableStreamArn.
func onTable(tpl *translated.Template, own, stream string) (map[string]string, error) {
	o := options()
	o.Physical = map[string]string{"Table": own}
	o.Parameters["TableStreamArn"] = stream
	resolved, err := tpl.Resolve(o)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, r := range resolved.Resources {
		out[name] = asJSON(r.Properties)
	}
	for name, value := range resolved.Outputs {
		out["output "+name] = asJSON(value)
	}
	return out, nil
}
