package limit_test

import (
	"cmp"
	"os"
	"testing"
	"time"
	_ "time/tzdata" // a machine may have no zones
)

// TestTheZoneOfTheRunIsKnown: for an unknown zone, Go uses UTC, and the tests would not test another zone.
func TestTheZoneOfTheRunIsKnown(t *testing.T) {
	zone, err := time.LoadLocation(cmp.Or(os.Getenv("TZ"), "Local"))
	if at := time.Now(); err != nil || at.In(zone).Format(time.DateTime) != at.Local().Format(time.DateTime) {
		t.Errorf("%q: %v", os.Getenv("TZ"), err)
	}
}
