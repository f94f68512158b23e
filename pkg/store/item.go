package store

import (
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is a row in DynamoDB's format. Rows are read and written by hand, because reflection over
// struct tags costs the authorizer more than its read.
type item map[string]types.AttributeValue

// str, num, boolean and bin make attribute values.
func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
func boolean(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }
func bin(b []byte) types.AttributeValue   { return &types.AttributeValueMemberB{Value: b} }

// attributes returns the two attributes of the key.
func (k key) attributes() item { return item{attrPK: str(k.pk), attrSK: str(k.sk)} }

// with returns a whole row: the attributes of the key, and attrs.
func (k key) with(attrs item) item {
	row := k.attributes()
	maps.Copy(row, attrs)
	return row
}

// str returns a text attribute, "" when it is absent.
func (i item) str(name string) string {
	if v, ok := i[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// num returns an integer attribute, 0 when it is absent.
func (i item) num(name string) int64 {
	v, ok := i[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// bool returns a boolean attribute, false when it is absent.
func (i item) bool(name string) bool {
	v, ok := i[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}

// bin returns a binary attribute, nil when it is absent.
func (i item) bin(name string) []byte {
	if v, ok := i[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}
