package webhook_test

import (
	"encoding/json"
	"testing"

	"latchkey/pkg/webhook"
)

func TestAnUnsetTimeOfAnEventIsNull(t *testing.T) {
	for at, want := range map[int64]string{0: "null", 5: "5"} {
		got, err := json.Marshal(webhook.OrNull(at))
		if err != nil || string(got) != want {
			t.Errorf("%d: %s, %v", at, got, err)
		}
	}
}
