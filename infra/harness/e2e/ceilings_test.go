package e2e_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"latchkey/infra/harness/lab/proxy"

	"latchkey/infra/harness/local/stack"
)

// What DynamoDB allows, by its documentation.
const (
	partitionReads, partitionWrites = 3000, 1000  // units a second of one partition, of the table or its index
	firstDayReads, firstDayWrites   = 12000, 4000 // of an on-demand table that was never busy
	indexPartitions                 = 8           // of each kind of row that waits (infra/docs/design.md, "The table")
)

// writes adds the units of the rows that a call writes, by the part of their partition key before the #. A row is less than a KB, and
// costs two units in a transaction.
func (m *meter) writes(t *testing.T, c proxy.Call) {
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
	for _, one := range in.TransactItems {
		for _, r := range []row{one.Put, one.Update, one.Delete, one.ConditionCheck} {
			add(r, 2)
		}
	}
}

// ceilings compares the table in infra/docs/speed.md, which says which limit is reached first, with measured units: of an event for
// no endpoint, for one and for two. checkReads are the read units of the check of a key.
func (c *server) ceilings(t *testing.T, s *stack.Stack, m *meter, checkReads float64) {
	t.Helper()
	one := c.receiver(t, nil, "one.event")
	first, second := c.receiver(t, nil, "two.events"), c.receiver(t, nil, "two.events")
	billing := serviceOf(t, s, c.tg)
	pipeline := map[string]float64{"FanoutFunction": 0, "DeliverFunction": 0}
	all := map[string]float64{"AppsFunction": 0, "FanoutFunction": 0, "DeliverFunction": 0}
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
	writes(all, "no.event") // not used: it waits until the events that the new endpoints caused are fanned out
	_, _, unsent := writes(all, "no.event")
	inTable, _, alone := writes(all, "one.event", one)
	_, inIndex, _ := writes(pipeline, "one.event", one)
	_, _, beside := writes(all, "two.events", first, second)
	for what, want := range map[string]float64{
		"One API key":                               partitionReads / checkReads,
		"One app's events":                          partitionWrites / unsent["EVTS"],
		"One endpoint, alone with its event":        partitionWrites / alone["DLV"],
		"One endpoint, beside others":               partitionWrites / (beside["DLV"] / 2),
		"The index, of what waits":                  indexPartitions * partitionWrites / (inIndex - 1), // one is the event that leaves another kind
		"Key checks on a table's first day":         firstDayReads / checkReads,
		"Published webhooks on a table's first day": firstDayWrites / inTable,
	} {
		checkFigure(t, "infra/docs/speed.md", `\| `+what+` \| (\d+) \|`, math.Floor(want))
	}
}
