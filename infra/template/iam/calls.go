package iam

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"latchkey/infra/template/translated"
)

const (
	leadingKeys  = "dynamodb:LeadingKeys"
	attributes   = "dynamodb:Attributes"
	enclosing    = "dynamodb:EnclosingOperation"
	messageType  = "kms:MessageType"
	algorithm    = "kms:SigningAlgorithm"
	keySpec      = "kms:KeySpec"
	keyUsage     = "kms:KeyUsage"
	requestTag   = "aws:RequestTag/"
	resourceTag  = "aws:ResourceTag/"
	tagKeysOfAll = "aws:TagKeys"
)

// Key has the properties of a KMS key that decide who may use it.
type Key struct {
	ARN, Spec, Usage string
	Tags             map[string]string
}

// Calls finds the rights that a call needs.
type Calls struct {
	hashKeys map[string]string                                                // the partition key's attribute, by table or table/index/name
	keyOf    func(ctx context.Context, id string) (*Key, error)               // finds a KMS key; nil: there is no such key
	needs    map[string]func(context.Context, string, []byte) ([]Need, error) // by service: returns the rights for an operation and its body
}

// NewCalls returns the calls of a template's functions. keyOf looks up a KMS key by its id; its error is an error of Needs.
func NewCalls(t *translated.Template, keyOf func(ctx context.Context, id string) (*Key, error)) *Calls {
	c := &Calls{hashKeys: t.HashKeys(), keyOf: keyOf}
	c.needs = map[string]func(context.Context, string, []byte) ([]Need, error){
		"dynamodb": c.dynamoDB, "kms": c.kms, "sqs": sqsNeeds, "events": eventsNeeds,
	}
	return c
}

// Needs returns the rights that a call needs: an operation of the service "dynamodb", "kms", "sqs" or "events", with its
// JSON body.
func (c *Calls) Needs(ctx context.Context, service, operation string, body []byte) ([]Need, error) {
	return c.needs[service](ctx, operation, body)
}

// value is a DynamoDB attribute that may be a key. S is empty for an attribute of another type.
type value struct{ S string }

// row is a row in a call: its key or the whole row, and the expressions of the call.
type row struct {
	TableName string
	Key, Item map[string]value

	UpdateExpression, ConditionExpression string
	ExpressionAttributeNames              map[string]string
	AttributeUpdates, Expected            map[string]json.RawMessage // older calls have these in place of expressions
}

// dynamoCall has the parts of DynamoDB's requests that decide access.
type dynamoCall struct {
	row
	IndexName                 string
	KeyConditionExpression    string
	ExpressionAttributeValues map[string]value
	RequestItems              map[string]struct{ Keys []map[string]value }
	TransactItems             []map[string]row
}

// transactActions are the actions for the parts of a transaction.
var transactActions = map[string]string{
	"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem", "Get": "GetItem",
}

// dynamoDB returns the rights for one call. AWS does not document whether it evaluates the
// partitions of a batch or transaction together or one by one. Here each right needs a statement
// that allows all partitions of the call, which is enough in both cases.
func (c *Calls) dynamoDB(_ context.Context, operation string, body []byte) ([]Need, error) {
	var in dynamoCall
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	switch operation {
	case "UpdateItem":
		need := c.onTable(operation, in.TableName, c.partition(in.row))
		need.Context[attributes] = in.attributes()
		return []Need{need}, nil
	case "GetItem", "PutItem", "DeleteItem":
		return []Need{c.onTable(operation, in.TableName, c.partition(in.row))}, nil
	case "Query":
		return c.query(in)
	case "BatchGetItem":
		var needs []Need
		for table, items := range in.RequestItems {
			var partitions []string
			for _, k := range items.Keys {
				partitions = append(partitions, c.partition(row{TableName: table, Key: k}))
			}
			needs = append(needs, c.onTable(operation, table, partitions...))
		}
		return needs, nil
	case "TransactWriteItems", "TransactGetItems":
		return c.transaction(operation, in)
	default: // such as Scan: the need has no partition, so a condition on partitions is false
		return []Need{{Action: "dynamodb:" + operation, Resource: translated.ARN("dynamodb", "table/"+in.TableName)}}, nil
	}
}

// DecideDynamoDB decides by the role of a template's function whether a call to DynamoDB is allowed.
// Error: *DeniedError.
func (a *Authority) DecideDynamoDB(t *translated.Template, function, operation string, body []byte) error {
	needs, err := NewCalls(t, nil).dynamoDB(context.Background(), operation, body)
	if err != nil {
		return err
	}
	return a.Decide(function, needs...)
}

// onTable returns the right for an action on rows of some partitions of a table.
func (c *Calls) onTable(action, table string, partitions ...string) Need {
	return Need{"dynamodb:" + action, translated.ARN("dynamodb", "table/"+table), map[string][]string{leadingKeys: partitions}}
}

// partition returns the value of a row's partition key.
func (c *Calls) partition(r row) string {
	attribute := c.hashKeys[r.TableName]
	if r.Item != nil {
		return r.Item[attribute].S
	}
	return r.Key[attribute].S
}

// equality matches the only form of a query's condition that this package reads.
var equality = regexp.MustCompile(`(?:^|AND )(\w+) = (:\w+)(?: AND|$)`)

func (c *Calls) query(in dynamoCall) ([]Need, error) {
	table := in.TableName
	if in.IndexName != "" {
		table += "/index/" + in.IndexName
	}
	for _, m := range equality.FindAllStringSubmatch(in.KeyConditionExpression, -1) {
		if m[1] == c.hashKeys[table] {
			return []Need{c.onTable("Query", table, in.ExpressionAttributeValues[m[2]].S)}, nil
		}
	}
	return nil, fmt.Errorf("the local stack finds no partition in the condition %q", in.KeyConditionExpression)
}

func (c *Calls) transaction(operation string, in dynamoCall) ([]Need, error) {
	var needs []Need
	var partitions []string
	for _, part := range in.TransactItems {
		for kind, r := range part {
			action, ok := transactActions[kind]
			if !ok {
				return nil, fmt.Errorf("the local stack does not know %s in a transaction", kind)
			}
			partitions = append(partitions, c.partition(r))
			needs = append(needs, Need{Action: "dynamodb:" + action, Resource: translated.ARN("dynamodb", "table/"+r.TableName)})
		}
	}
	for i, n := range needs { // needs[i] is the right for TransactItems[i]
		needs[i].Context = map[string][]string{leadingKeys: partitions}
		if n.Action == "dynamodb:UpdateItem" {
			needs[i].Context[attributes] = in.TransactItems[i]["Update"].attributes()
		}
		// AWS's service authorization reference gives the key EnclosingOperation to every other action.
		if n.Action != "dynamodb:ConditionCheckItem" {
			needs[i].Context[enclosing] = []string{operation}
		}
	}
	return needs, nil
}

// kmsCall has the parts of KMS's requests that decide access.
type kmsCall struct {
	KeyID            string `json:"KeyId"`
	KeySpec          string
	KeyUsage         string
	MessageType      string
	SigningAlgorithm string
	Tags             []struct{ TagKey, TagValue string }
}

func (c *Calls) kms(ctx context.Context, operation string, body []byte) ([]Need, error) {
	var in kmsCall
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	tags := map[string][]string{}
	for _, t := range in.Tags {
		tags[tagKeysOfAll] = append(tags[tagKeysOfAll], t.TagKey)
		tags[requestTag+t.TagKey] = []string{t.TagValue}
	}
	if operation == "CreateKey" {
		need := Need{"kms:CreateKey", "*", map[string][]string{keySpec: {in.KeySpec}, keyUsage: {in.KeyUsage}}}
		maps.Copy(need.Context, tags)
		if len(in.Tags) == 0 {
			return []Need{need}, nil
		}
		return []Need{need, {"kms:TagResource", translated.ARN("kms", "key/new"), tags}}, nil // the new key has no id yet
	}
	key, err := c.keyOf(ctx, in.KeyID)
	if err != nil || key == nil {
		return nil, err // an unknown key needs no right: KMS looks for the key before it checks rights
	}
	need := Need{"kms:" + operation, key.ARN, tags}
	need.Context[keySpec], need.Context[keyUsage] = []string{key.Spec}, []string{key.Usage}
	for k, v := range key.Tags {
		need.Context[resourceTag+k] = []string{v}
	}
	if in.SigningAlgorithm != "" {
		need.Context[algorithm] = []string{in.SigningAlgorithm}
		need.Context[messageType] = []string{cmp.Or(in.MessageType, "RAW")} // RAW is KMS's default
	}
	return []Need{need}, nil
}

// sqsNeeds returns the right for a call. A batch needs the right of the single call.
func sqsNeeds(_ context.Context, operation string, body []byte) ([]Need, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	return []Need{{Action: "sqs:" + strings.TrimSuffix(operation, "Batch"), Resource: translated.ARN("sqs", path.Base(in.QueueURL))}}, nil
}

// eventsNeeds returns the right for a call on event buses: one for each entry's bus.
func eventsNeeds(_ context.Context, operation string, body []byte) (needs []Need, err error) {
	var in struct {
		Entries []struct{ EventBusName string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	for _, e := range in.Entries {
		needs = append(needs, Need{Action: "events:" + operation, Resource: translated.ARN("events", "event-bus/"+e.EventBusName)})
	}
	return needs, nil
}

// word matches a path of attributes, a value, a function or a keyword in DynamoDB's expressions. Its groups are the
// first name, and the parenthesis of a function.
var word = regexp.MustCompile(`([:#]?\w+)(?:\.#?\w+|\[\d+\])*(\s*\()?`)

// keywords are the words of expressions that do not name attributes. An attribute of such a name has a placeholder.
var keywords = []string{"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"}

// attributes returns the top-level attributes that an update names in its key, its changes and its condition, sorted. They are the
// values of dynamodb:Attributes.
func (r row) attributes() []string {
	named := slices.Collect(maps.Keys(r.Key))
	named = slices.AppendSeq(named, maps.Keys(r.AttributeUpdates))
	named = slices.AppendSeq(named, maps.Keys(r.Expected))
	for _, m := range word.FindAllStringSubmatch(r.UpdateExpression+" "+r.ConditionExpression, -1) {
		name, isFunction := m[1], m[2] != ""
		switch {
		case name[0] == '#': // a placeholder
			named = append(named, r.ExpressionAttributeNames[name])
		case name[0] != ':' && !isFunction && !slices.Contains(keywords, strings.ToUpper(name)):
			named = append(named, name)
		}
	}
	slices.Sort(named)
	return slices.Compact(named)
}
