package store

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/table"
)

// TestAnAPIKeysRowIsDecodedWithoutAllocations: the authorizer decodes the row of an API key for each request. The key has
// a creator, and was rotated twice.
func TestAnAPIKeysRowIsDecodedWithoutAllocations(t *testing.T) {
	row := table.Row{
		"PK": &types.AttributeValueMemberS{Value: "KEYS#org_1"}, "SK": &types.AttributeValueMemberS{Value: "KEY#key_1"},
		"hash": &types.AttributeValueMemberB{Value: make([]byte, 32)}, "prefix": &types.AttributeValueMemberS{Value: "lk_1"},
		"appId": &types.AttributeValueMemberS{Value: "app_1"}, "name": &types.AttributeValueMemberS{Value: "x"},
		"createdAt": &types.AttributeValueMemberN{Value: "1"}, "expiresAt": &types.AttributeValueMemberN{Value: "2"},
	}
	for n, name := range []string{"createdBy", "limitId", "predecessor", "rotatedTo"} {
		row[name] = &types.AttributeValueMemberB{Value: append(make([]byte, 15), byte(n+1))}
	}
	var k APIKey
	allocations := testing.AllocsPerRun(100, func() {
		r := table.Read(row)
		k = apiKeyFrom(&r)
	})
	if allocations != 0 || k.ID != "key_1" || k.ExpiresAt != 2 || k.CreatedBy.Long() != "usr_00000000000000000000000001" ||
		k.LimitID() != "key_00000000000000000000000002" || k.RotatedTo.Long() != "key_00000000000000000000000004" {
		t.Errorf("%v allocations, %+v", allocations, k)
	}
}
