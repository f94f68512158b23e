package clock_test

import (
	"strings"
	"testing"
	"time"

	"latchkey/pkg/clock"
)

func TestNowIsTheTimeOfTheWallOnly(t *testing.T) {
	before := time.Now()
	now := clock.Now()
	if text := now.String(); strings.Contains(text, "m=") {
		t.Error(text)
	}
	if now.Before(before.Round(0)) || now.After(time.Now().Round(0)) {
		t.Errorf("%s, between %s and now", now, before)
	}
}
