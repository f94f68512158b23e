package webhook_test

import (
	"encoding/json"
	"testing"

	"latchkey/pkg/webhook"
)

func TestAMessageNamesItsDelivery(t *testing.T) {
	m := webhook.Message{Org: "org_1", DeliveryID: webhook.DeliveryID{App: "app_1", Endpoint: "whe_1", Event: "evt_1"}}
	body, err := json.Marshal(m)
	if err != nil || string(body) != `{"orgId":"org_1","appId":"app_1","endpointId":"whe_1","eventId":"evt_1"}` {
		t.Fatalf("%s, %v", body, err)
	}
	if got, err := webhook.ParseMessage(string(body)); err != nil || got != m {
		t.Errorf("%+v, %v", got, err)
	}
	for _, body := range []string{"", "{", `"x"`, "[]", `{"appId":1}`} {
		if _, err := webhook.ParseMessage(body); err == nil {
			t.Errorf("%q is read", body)
		}
	}
}
