package e2e_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/local/stack"
)

// emptyBudget has an app whose API keys have spent their budget. Revocations of keys and links
// still work, and their webhooks arrive.
func emptyBudget(t *testing.T, s *stack.Stack, tg *target) {
	c := tg.server(t)
	hook := c.receiver(t, nil, "link.claimed", "link.revoked", "key.revoked")
	claimed, token := c.link(t, "u-1")
	revoked, _ := c.link(t, "u-2")
	keyID, _ := c.owner.key(t, c.org, `{}`)
	// The count is in deliveries, at 100 a second. The budget is refilled in 90 seconds.
	spent := time.Now().UnixMilli()/10 + 2000 + 9000
	setRow(t, s, rowKey{"BUDGET#" + c.appID, "META"}, "SET spent = :spent", map[string]types.AttributeValue{
		":spent": &types.AttributeValueMemberN{Value: strconv.FormatInt(spent, 10)},
	})
	refused := c.want(t, "/link/create", members{"clientUserId": "u-3"}, 429, "rate_limited")
	if after, err := strconv.Atoi(refused.header.Get("Retry-After")); err != nil || after < 30 || after > 91 {
		t.Errorf("Retry-After %q", refused.header.Get("Retry-After"))
	}
	c.want(t, "/webhook_endpoint/test", members{"endpointId": hook.endpoint}, 429, "rate_limited")
	tg.want(t, newDevice().claims(token), 200, "")
	c.ok(t, "/link/revoke", members{"linkId": revoked})
	c.owner.want(t, "DELETE", "/v1/orgs/"+c.org+"/keys/"+keyID, "", 204, "")
	hook.one(t, "link.claimed", claimed)
	hook.one(t, "link.revoked", revoked)
	hook.one(t, "key.revoked", keyID)
}
