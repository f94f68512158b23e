package store

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/table"
)

// TestAnAPIKeysRowIsDecodedWithoutAllocations: the authorizer decodes the row of an API key for each request.
func TestAnAPIKeysRowIsDecodedWithoutAllocations(t *testing.T) {
	row := table.Row{
		"PK": &types.AttributeValueMemberS{Value: "KEYS#org_1"}, "SK": &types.AttributeValueMemberS{Value: "KEY#key_1"},
		"hash": &types.AttributeValueMemberB{Value: make([]byte, 32)}, "prefix": &types.AttributeValueMemberS{Value: "lk_1"},
		"appId": &types.AttributeValueMemberS{Value: "app_1"}, "name": &types.AttributeValueMemberS{Value: "x"},
		"createdAt": &types.AttributeValueMemberN{Value: "1"}, "expiresAt": &types.AttributeValueMemberN{Value: "2"},
	}
	var k APIKey
	allocations := testing.AllocsPerRun(100, func() {
		r := table.Read(row)
		k = apiKeyFrom(&r)
	})
	if allocations != 0 || k.ID != "key_1" || k.ExpiresAt != 2 {
		t.Errorf("%v allocations, %+v", allocations, k)
	}
}
