package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"latchkey/infra/deploy/cloud"
)

// checkLastUse makes an API key that expires, lets a door check it, and checks that the list of keys shows a last use. The door
// ignores errors of this write, because no request may fail for it: only the list can show that it failed.
func checkLastUse(t *testing.T, ada *person, org, door string, check func(t *testing.T, key string)) {
	t.Helper()
	id, key := ada.key(t, org, `{"scopes":["invoices:read"],"expiresIn":3600}`)
	check(t, key)
	for _, k := range ada.want(t, "GET", "/v1/orgs/"+org+"/keys", "", 200, "").list("keys") {
		if k["id"] == id && k["lastUsedAt"] != nil {
			return
		}
	}
	t.Errorf("%s has checked the key %s, and has written no last use: see the role's statement LastUse, and the time limit of the write", door, id)
}

// lastUsesAreNoted checks the last use at the API, and at the platform's doors.
func lastUsesAreNoted(t *testing.T, tg *target, p platform) {
	ada := tg.person(t, "ada")
	org := ada.org(t)
	doors := p.doors(t)
	doors["the API"] = func(t *testing.T, key string) {
		tg.want(t, call{method: "POST", path: "/app/get", bearer: key}, 200, "")
	}
	for name, check := range doors {
		checkLastUse(t, ada, org, name, check)
	}
}

// noted checks the last use at each door of an owner.
func (f *frontDoor) noted(t *testing.T) {
	for _, d := range f.doors {
		checkLastUse(t, f.ada, f.org, d.name, func(t *testing.T, key string) { d.want(t, d.keyPath, key, 200, "") })
	}
}

func (localPlatform) doors(t *testing.T) map[string]func(t *testing.T, key string) {
	t.Log("TestFrontDoor checks the doors of an owner's own API")
	return map[string]func(t *testing.T, key string){}
}

// doors returns the shared authorizer, called like API Gateway does, and the function URL if the stack has one.
// The deployment has no program with package guard to call. The policy of such a program has the same statement LastUse.
func (p awsPlatform) doors(t *testing.T) map[string]func(t *testing.T, key string) {
	doors := map[string]func(t *testing.T, key string){"the shared authorizer": func(t *testing.T, key string) {
		if answer := p.authorize(t, key); !strings.Contains(string(answer), `"Effect":"Allow"`) {
			t.Errorf("the shared authorizer: %s", answer)
		}
	}}
	if url := p.find(t, "ForwardAuthUrl"); url != "" {
		doors["the function URL"] = func(t *testing.T, key string) {
			r, err := newTarget("url", url, nil).try(t.Context(), call{method: "GET", path: "/authorize", bearer: key})
			if err != nil || r.status != 200 {
				t.Errorf("the function URL: %d %s %v", r.status, r.text, err)
			}
		}
	}
	return doors
}

// authorize calls the shared authorizer with a key, and returns its answer.
func (p awsPlatform) authorize(t *testing.T, key string) []byte {
	t.Helper()
	event, err := json.Marshal(map[string]any{
		"type": "REQUEST", "methodArn": "arn:aws:execute-api:" + p.region + ":000000000000:smoke/live/GET/invoices", "resource": "/invoices",
		"multiValueHeaders": map[string][]string{"Authorization": {"Bearer " + key}}, "requestContext": map[string]any{"extendedRequestId": "smoke"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Payload string }
	p.call(t, "lambda", "invoke", cloud.Params{"FunctionName": p.physical(t, "KeyAuthorizerFunction"), "Payload": string(event)}, &answer)
	return []byte(answer.Payload)
}
