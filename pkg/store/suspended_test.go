package store_test

import (
	"slices"
	"testing"

	"latchkey/pkg/id"
)

func TestASuspensionIsReadStrongly(t *testing.T) {
	c := connect(t)
	for _, want := range []bool{false, true, false} {
		wants(t, c.suspend(want), "")
		c.forgetCalls()
		got, err := c.Suspended(ctx, c.org)
		if calls := c.Faults.Calls(); err != nil || got != want || !slices.Equal(calls, []string{"GetItem"}) {
			t.Errorf("%v %v by %v, want %v", got, err, calls, want)
		}
	}
	wants(t, c.suspend(true), "")
	if got, err := c.Suspended(ctx, id.Source{}.NewOrg()); got || err != nil {
		t.Errorf("an unknown org: %v %v", got, err)
	}
}
