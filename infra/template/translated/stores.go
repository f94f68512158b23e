package translated

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Queue is a queue of a template, with the addresses that the template's references resolve to.
type Queue struct {
	Name       string
	Attributes map[string]string // the attributes in SQS, such as VisibilityTimeout, by name
	// DeadLetters is the ARN of the queue for messages that were received MaxReceives times without success; "": none.
	DeadLetters string
	MaxReceives int

	ID  string // logical id
	ARN string
	URL string
}

// queueAttributes are properties with the same name in CloudFormation and in SQS.
var queueAttributes = []string{"VisibilityTimeout", "MessageRetentionPeriod", "DelaySeconds", "MaximumMessageSize", "ReceiveMessageWaitTimeSeconds"}

// queueIgnored are properties that are not attributes in SQS. Other code reads them, or they have no effect on one machine.
var queueIgnored = []string{"QueueName", "RedrivePolicy", "Tags", "SqsManagedSseEnabled", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"}

// Queues returns every queue of the template. A property that the local stack does not know is an error.
func (t *Template) Queues() ([]Queue, error) {
	return readEach("queue", t.Named("AWS::SQS::Queue"), t.queue)
}

func (t *Template) queue(id string) (Queue, error) {
	name := queueName(id, t.Resources[id].Properties)
	q := Queue{ID: id, ARN: ARN("sqs", name), URL: queueURL(t.options.QueueEndpoint, name)}
	q.Name, q.Attributes = name, map[string]string{}
	for property, v := range t.Resources[id].Properties {
		switch {
		case slices.Contains(queueAttributes, property):
			q.Attributes[property] = scalar(v)
		case !slices.Contains(queueIgnored, property):
			return q, fmt.Errorf("the local stack does not know the property %s", property)
		}
	}
	redrive, ok := t.Resources[id].Properties["RedrivePolicy"].(map[string]any)
	if !ok {
		return q, nil
	}
	var err error
	q.DeadLetters = scalar(redrive["deadLetterTargetArn"])
	if q.MaxReceives, err = strconv.Atoi(scalar(redrive["maxReceiveCount"])); err != nil || q.MaxReceives < 1 {
		return q, fmt.Errorf("maxReceiveCount %v", redrive["maxReceiveCount"])
	}
	return q, nil
}

// queueName returns the name of a queue: the QueueName in its properties, or its logical id.
func queueName(id string, properties map[string]any) string {
	name, _ := properties["QueueName"].(string)
	return cmp.Or(name, id)
}

// queueURL returns a queue's URL at an endpoint. Without an endpoint it is the URL on AWS.
func queueURL(endpoint, name string) string {
	return cmp.Or(endpoint, "https://sqs."+Region+".amazonaws.com") + "/" + AccountID + "/" + name
}

// Tables returns the properties of each table, by the table's name.
func (t *Template) Tables() map[string]map[string]any {
	out := make(map[string]map[string]any)
	for _, id := range t.Named("AWS::DynamoDB::Table") {
		out[t.tableName(id)] = t.Resources[id].Properties
	}
	return out
}

// HashKeys returns the attribute of the partition key of each table, by the table's name, and of each index, by
// <table>/index/<name>. A function may get the stream of a table outside the template: that table has the keys of the template's
// only table.
func (t *Template) HashKeys() map[string]string {
	out := make(map[string]string)
	for _, id := range t.Named("AWS::DynamoDB::Table") {
		properties := t.Resources[id].Properties
		for _, name := range append(t.streamed(), t.tableName(id)) {
			out[name] = hashKey(properties["KeySchema"])
			for _, v := range List(properties["GlobalSecondaryIndexes"]) {
				index := Object(v)
				out[name+"/index/"+scalar(index["IndexName"])] = hashKey(index["KeySchema"])
			}
		}
	}
	return out
}

// streamed returns the names of the tables whose streams feed a function.
func (t *Template) streamed() []string {
	var out []string
	for _, name := range t.Named("AWS::Lambda::EventSourceMapping") {
		if table := tableOf(scalar(t.Resources[name].Properties["EventSourceArn"])); table != "" {
			out = append(out, table)
		}
	}
	return out
}

// hashKey returns the attribute of the partition key in a key schema.
func hashKey(schema any) string {
	for _, v := range List(schema) {
		if key := Object(v); key["KeyType"] == "HASH" {
			return scalar(key["AttributeName"])
		}
	}
	return ""
}
