package pump

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"latchkey/infra/lab/backing"
)

// record is a record of a stream, in the form of Lambda's event.
type record struct {
	sequence string
	created  time.Time
	event    json.RawMessage
}

// newRecord returns the record in the form of Lambda's event, and as a tree for filters.
func newRecord(r types.Record, streamARN string) (record, map[string]any, error) {
	d := r.Dynamodb
	if d == nil {
		return record{}, nil, fmt.Errorf("stream record %s has no content", aws.ToString(r.EventID))
	}
	created := aws.ToTime(d.ApproximateCreationDateTime)
	content := map[string]any{
		"ApproximateCreationDateTime": created.Unix(), "Keys": values(d.Keys), "SequenceNumber": aws.ToString(d.SequenceNumber),
		"SizeBytes": aws.ToInt64(d.SizeBytes), "StreamViewType": string(d.StreamViewType),
	}
	if d.NewImage != nil {
		content["NewImage"] = values(d.NewImage)
	}
	if d.OldImage != nil {
		content["OldImage"] = values(d.OldImage)
	}
	tree := map[string]any{
		"eventID": aws.ToString(r.EventID), "eventName": string(r.EventName), "eventVersion": "1.1", "eventSource": "aws:dynamodb",
		"awsRegion": backing.Region, "dynamodb": content, "eventSourceARN": streamARN,
	}
	// userIdentity is there when DynamoDB itself has deleted the row at its time to live.
	if u := r.UserIdentity; u != nil {
		tree["userIdentity"] = map[string]any{"principalId": aws.ToString(u.PrincipalId), "type": aws.ToString(u.Type)}
	}
	event, err := json.Marshal(tree)
	return record{aws.ToString(d.SequenceNumber), created, event}, tree, err
}

func values(item map[string]types.AttributeValue) map[string]any {
	out := make(map[string]any, len(item))
	for name, v := range item {
		out[name] = value(v)
	}
	return out
}

// value returns an attribute in the form of DynamoDB's JSON. encoding/json makes base64 of bytes.
func value(v types.AttributeValue) map[string]any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": v.Value}
	case *types.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": values(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = value(e)
		}
		return map[string]any{"L": list}
	}
	return nil
}
