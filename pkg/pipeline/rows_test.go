package pipeline_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
)

type row = map[string]types.AttributeValue

func str(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func num(v int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(v, 10)}
}

// puts writes n rows directly into the table.
func (s *stack) puts(t *testing.T, n int, of func(i int) row) {
	t.Helper()
	var puts []types.WriteRequest
	for i := range n {
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: of(i)}})
	}
	for part := range slices.Chunk(puts, 25) {
		if _, err := s.DB.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.Name: part}}); err != nil {
			t.Fatal(err)
		}
	}
}

// shard returns the partition of the index in which a row is.
func shard(kind, pk, sk string) types.AttributeValue {
	h := fnv.New32a()
	_, _ = h.Write([]byte(pk + sk))
	return str(fmt.Sprint("DUE#", kind, "#", h.Sum32()%8))
}

// linkRow returns a pending link that expires in a day.
func linkRow(s *stack, o id.Org, a id.App, i int) row {
	pk, sk := "LINKS#"+string(a), fmt.Sprintf("LINK#lnk_%026d", i)
	at := s.Now().UnixMilli()
	return row{
		"PK": str(pk), "SK": str(sk), "due": shard("link", pk, sk), "dueAt": num(at + 86_400_000), "orgId": str(string(o)), "clientUserId": str("u"),
		"createdAt": num(at), "expiresAt": num(at + 86_400_000), "purgeAt": num(at/1000 + 31*86_400), "hash": &types.AttributeValueMemberB{Value: []byte("x")},
	}
}

// overdueRow returns a delivery that is due.
func overdueRow(s *stack, i int) row {
	pk, sk := "DLV#whe_1", fmt.Sprintf("evt_%026d", i)
	return row{
		"PK": str(pk), "SK": str(sk), "orgId": str(string(s.org)), "appId": str(string(s.app)), "status": str("pending"),
		"due": shard("delivery", pk, sk), "dueAt": num(s.Now().UnixMilli() - 1), "startedAt": num(s.Now().UnixMilli()), "nextAttemptAt": num(1),
	}
}
