package webhook_test

import (
	"encoding/json"
	"slices"
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

func TestOnlyEventsThatCanShowAnAttackArePrompt(t *testing.T) {
	late := []webhook.Type{webhook.LinkClaimed, webhook.LinkExpired, webhook.LinkRevoked, webhook.Test}
	for _, kind := range webhook.AllTypes() {
		if want := !slices.Contains(late, kind); kind.Prompt() != want {
			t.Errorf("%s: %v", kind, !want)
		}
	}
}
