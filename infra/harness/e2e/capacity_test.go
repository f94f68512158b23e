package e2e_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"latchkey/infra/harness/lab/proxy"

	"latchkey/infra/harness/local/stack"
)

// Limits of DynamoDB, by its documentation.
const (
	partitionReads, partitionWrites = 3000, 1000  // units a second of one partition, in the table or in its index
	firstDayReads, firstDayWrites   = 12000, 4000 // units a second of a new on-demand table
	indexPartitions                 = 8           // partitions of the index for each kind of waiting row (infra/docs/design.md, "The table")
)

// addWrites adds the write units of a call to writesTo, by the part of the partition key before the #. A row is smaller than a KB: it
// costs one unit, or two in a transaction.
func (m *meter) addWrites(t *testing.T, c proxy.Call) {
	type row struct{ Key, Item map[string]struct{ S string } }
	var in struct {
		row
		TransactItems []struct{ Put, Update, Delete, ConditionCheck row }
	}
	if err := json.Unmarshal(c.Request, &in); err != nil {
		t.Error(err)
	}
	add := func(r row, units float64) {
		if kind, _, ok := strings.Cut(r.Key["PK"].S+r.Item["PK"].S, "#"); ok {
			m.writesTo[kind] += units
		}
	}
	add(in.row, 1)
	for _, item := range in.TransactItems {
		for _, r := range []row{item.Put, item.Update, item.Delete, item.ConditionCheck} {
			add(r, 2)
		}
	}
}

// capacity measures the units of an event for no endpoint, for one endpoint and for two. With them it computes how many calls a second
// the limits of DynamoDB allow, and compares the results with infra/docs/speed.md. checkReads are the read units of one key check.
func (c *server) capacity(t *testing.T, s *stack.Stack, m *meter, checkReads float64) {
	t.Helper()
	one := c.receiver(t, nil, "one.event")
	first, second := c.receiver(t, nil, "two.events"), c.receiver(t, nil, "two.events")
	billing := serviceOf(t, s, c.tg)
	pipeline := map[string]float64{"FanoutFunction": 0, "DeliverFunction": 0}
	all := map[string]float64{"AppsFunction": 0, "FanoutFunction": 0, "DeliverFunction": 0}
	// writes publishes an event, and returns the write units of the table, of its index, and of the table by kind of partition.
	writes := func(by map[string]float64, kind string, to ...*receiver) (inTable, inIndex float64, writesTo map[string]float64) {
		use := m.measure(t, by, func() {
			made := billing.want(t, "POST", "/v1/orgs/"+c.org+"/apps/"+c.appID+"/events", `{"events":[{"type":"`+kind+`","data":{}}]}`, 202, "").list("events")
			for _, r := range to {
				c.delivered(t, r.endpoint, made[0]["id"].(string))
			}
		})
		for _, units := range m.writesTo {
			inTable += units
		}
		return inTable, use.Writes - inTable, m.writesTo
	}
	writes(all, "no.event") // its result is not used: it waits until the events of the new endpoints are fanned out
	_, _, unsent := writes(all, "no.event")
	inTable, _, alone := writes(all, "one.event", one)
	_, inIndex, _ := writes(pipeline, "one.event", one)
	_, _, shared := writes(all, "two.events", first, second)
	for what, want := range map[string]float64{
		"One API key":      partitionReads / checkReads,
		"One app's events": partitionWrites / unsent["EVTS"],
		"One endpoint, the only one of its events":  partitionWrites / alone["DLV"],
		"One endpoint of several":                   partitionWrites / (shared["DLV"] / 2),
		"The index of waiting rows":                 indexPartitions * partitionWrites / (inIndex - 1), // minus one unit: the write that takes the event out of the index
		"Key checks on a table's first day":         firstDayReads / checkReads,
		"Published webhooks on a table's first day": firstDayWrites / inTable,
	} {
		checkFigure(t, "infra/docs/speed.md", `\| `+what+` \| (\d+) \|`, math.Floor(want))
	}
}
