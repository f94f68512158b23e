package iam

import (
	"slices"
	"testing"
)

// TestTheAttributesOfAnUpdateAreAllThatItNames has each way in which a call may name an attribute.
func TestTheAttributesOfAnUpdateAreAllThatItNames(t *testing.T) {
	c := &calls{hashKeys: map[string]string{"Table": "PK"}}
	const key = `"TableName":"Table","Key":{"PK":{"S":"USED#1"},"SK":{"S":"KEY#1"}}`
	for body, want := range map[string][]string{
		`{` + key + `}`: {"PK", "SK"},
		`{` + key + `,"UpdateExpression":"SET lastUsedAt = :0, #1 = if_not_exists(#1, :due)","ExpressionAttributeNames":{"#1":"purgeAt"}}`: {"PK", "SK", "lastUsedAt", "purgeAt"},
		`{` + key + `,"UpdateExpression":"set a.b = :v remove #0.c[1] ADD d :v delete e :v","ExpressionAttributeNames":{"#0":"SET"}}`:      {"PK", "SET", "SK", "a", "d", "e"},
		`{` + key + `,"ConditionExpression":"(attribute_not_exists (x) OR NOT y IN (:1, z)) and size(w)>:2"}`:                              {"PK", "SK", "w", "x", "y", "z"},
		`{` + key + `,"AttributeUpdates":{"due":{"Action":"PUT"}},"Expected":{"dueAt":{}}}`:                                                {"PK", "SK", "due", "dueAt"},
	} {
		alone, err := c.dynamoDB(t.Context(), "UpdateItem", []byte(body))
		if err != nil || !slices.Equal(alone[0].Context[attributes], want) {
			t.Errorf("%s: %v, %v, want %q", body, err, alone, want)
		}
		inside, err := c.dynamoDB(t.Context(), "TransactWriteItems", []byte(`{"TransactItems":[{"Delete":{`+key+`}},{"Update":`+body+`}]}`))
		if err != nil || inside[0].Context[attributes] != nil || !slices.Equal(inside[1].Context[attributes], want) {
			t.Errorf("%s in a transaction: %v, %v, want %q", body, err, inside, want)
		}
	}
}
