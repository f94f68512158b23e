package stack

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"latchkey/infra/harness/lab/proxy"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/template/iam"
	"latchkey/infra/template/translated"
)

// keysOfKMS has the tags of the keys in the KMS, by the key's id.
var keysOfKMS = map[string]string{
	"SigningKey": `{"TagKey":"latchkey:stack","TagValue":"` + StackName + `"}`, // the key in the template
	"ours":       `{"TagKey":"latchkey:stack","TagValue":"` + StackName + `"}`,
	"theirs":     `{"TagKey":"latchkey:stack","TagValue":"other"}`,
	"plain":      ``,
}

// service imitates DynamoDB, KMS and SQS. All calls succeed, except calls for a key that is not in keysOfKMS. So any other refusal
// comes from the proxy.
func service(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	key := ""
	for id := range keysOfKMS {
		if strings.Contains(string(body), `"`+id+`"`) {
			key = id
		}
	}
	switch {
	case operation == "ListResourceTags":
		_, _ = io.WriteString(w, `{"Tags":[`+keysOfKMS[key]+`]}`)
	case operation == "DescribeKey" && key != "":
		_, _ = io.WriteString(w, `{"KeyMetadata":{"KeyId":"`+key+`","Arn":"arn:aws:kms:us-east-1:000000000000:key/`+key+`","KeySpec":"ECC_NIST_P256","KeyUsage":"SIGN_VERIFY"}}`)
	case operation == "DescribeKey", operation == "Sign" && key == "":
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"NotFoundException"}`)
	default:
		_, _ = io.WriteString(w, `{}`)
	}
}

// clients calls AWS like the functions: through a proxy that decides by the roles of the template.
type clients struct{ url string }

// newClients starts a proxy on the template with replacements (see template).
func newClients(t *testing.T, replace ...string) clients {
	t.Helper()
	tpl := template(t, replace...)
	server := httptest.NewServer(http.HandlerFunc(service))
	t.Cleanup(server.Close)
	services := map[string]string{"dynamodb": server.URL, "kms": server.URL, "sqs": server.URL}
	a, err := iam.New(tpl)
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.New(tpl, a, services, nil, func(*iam.DeniedError) {})
	if err != nil {
		t.Fatal(err)
	}
	proxyServer := httptest.NewServer(p)
	t.Cleanup(proxyServer.Close)
	return clients{proxyServer.URL}
}

// credentialsOf returns the credentials that the local stack gives a function.
func credentialsOf(function string) aws.CredentialsProviderFunc {
	return func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: function, SecretAccessKey: "local"}, nil
	}
}

func (c clients) dynamoDB(function string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: backing.Region, BaseEndpoint: &c.url, Credentials: credentialsOf(function), Retryer: aws.NopRetryer{}})
}

func (c clients) kms(function string) *kms.Client {
	return kms.New(kms.Options{Region: backing.Region, BaseEndpoint: &c.url, Credentials: credentialsOf(function), Retryer: aws.NopRetryer{}})
}

func (c clients) sqs(function string) *sqs.Client {
	return sqs.New(sqs.Options{Region: backing.Region, BaseEndpoint: &c.url, Credentials: credentialsOf(function), Retryer: aws.NopRetryer{}})
}

type values = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// keyed returns the primary key of a row in a partition.
func keyed(pk string) values { return values{"PK": text(pk), "SK": text("META")} }

// table is the table's name: its logical id, because the template is translated without a physical name.
var table = aws.String("Table")

func (c clients) get(function, pk string) error {
	_, err := c.dynamoDB(function).GetItem(context.Background(), &dynamodb.GetItemInput{TableName: table, Key: keyed(pk)})
	return err
}

func (c clients) query(function, index, condition, partition string) error {
	in := &dynamodb.QueryInput{TableName: table, KeyConditionExpression: &condition, ExpressionAttributeValues: values{":pk": text(partition), ":at": text("1")}}
	if index != "" {
		in.IndexName = &index
	}
	_, err := c.dynamoDB(function).Query(context.Background(), in)
	return err
}

// transact puts a row into each partition, in one transaction.
func (c clients) transact(function string, partitions ...string) error {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, pk := range partitions {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: table, Item: keyed(pk)}})
	}
	_, err := c.dynamoDB(function).TransactWriteItems(context.Background(), in)
	return err
}

func (c clients) sign(function, key string, kind kmstypes.MessageType) error {
	_, err := c.kms(function).Sign(context.Background(), &kms.SignInput{
		KeyId: &key, Message: []byte("m"), MessageType: kind, SigningAlgorithm: kmstypes.SigningAlgorithmSpecEcdsaSha256,
	})
	return err
}

func (c clients) createKey(function, tag string, spec kmstypes.KeySpec) error {
	in := &kms.CreateKeyInput{KeySpec: spec, KeyUsage: kmstypes.KeyUsageTypeSignVerify}
	if tag != "" {
		in.Tags = []kmstypes.Tag{{TagKey: aws.String("latchkey:stack"), TagValue: &tag}}
	}
	_, err := c.kms(function).CreateKey(context.Background(), in)
	return err
}

func (c clients) tag(function, key string) error {
	_, err := c.kms(function).TagResource(context.Background(), &kms.TagResourceInput{
		KeyId: &key, Tags: []kmstypes.Tag{{TagKey: aws.String("latchkey:stack"), TagValue: aws.String(StackName)}},
	})
	return err
}

func (c clients) send(function, queue string) error {
	_, err := c.sqs(function).SendMessage(context.Background(), &sqs.SendMessageInput{
		QueueUrl: aws.String("http://127.0.0.1:1/" + translated.AccountID + "/" + queue), MessageBody: aws.String("m"),
	})
	return err
}

// code returns AWS's error code, or "" without an error.
func code(t *testing.T, err error) string {
	t.Helper()
	var api smithy.APIError
	if err != nil && !errors.As(err, &api) {
		t.Fatal(err)
	}
	if err == nil {
		return ""
	}
	return api.ErrorCode()
}

const denied = "AccessDeniedException"

// TestRolesAllowOnlyTheNeededCalls makes real calls with the SDK, with the roles of template.yaml.
func TestRolesAllowOnlyTheNeededCalls(t *testing.T) {
	c := newClients(t)
	batch := func(function string, partitions ...string) error {
		var keys []values
		for _, pk := range partitions {
			keys = append(keys, keyed(pk))
		}
		in := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*table: {Keys: keys}}}
		_, err := c.dynamoDB(function).BatchGetItem(context.Background(), in)
		return err
	}
	update := func(function, pk string) error {
		_, err := c.dynamoDB(function).UpdateItem(context.Background(), &dynamodb.UpdateItemInput{TableName: table, Key: keyed(pk)})
		return err
	}
	use := func(function, attribute string) error { // writes the last use of a key, and one more attribute
		_, err := c.dynamoDB(function).UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName: table, Key: keyed("USED#1"), UpdateExpression: aws.String("SET lastUsedAt = :at, " + attribute + " = :at"),
		})
		return err
	}
	_, scan := c.dynamoDB("OrgsFunction").Scan(context.Background(), &dynamodb.ScanInput{TableName: table})
	const partition, due = "PK = :pk AND begins_with(SK, :at)", "due = :pk AND dueAt <= :at"
	for what, call := range map[string]struct {
		err  error
		want string // the code; "": the call is allowed
	}{
		"a read of its partition":                      {c.get("AppsFunction", "ORG#1"), ""},
		"a read of another partition":                  {c.get("AppsFunction", "KEYS#1"), denied},
		"GetItem where the role has Query":             {c.get("FanoutFunction", "HOOKS#1"), denied},
		"an unknown function":                          {c.get("NoFunction", "ORG#1"), denied},
		"a query":                                      {c.query("FanoutFunction", "", partition, "HOOKS#1"), ""},
		"a query of another partition":                 {c.query("FanoutFunction", "", partition, "KEYS#1"), denied},
		"a query that names no partition":              {c.query("FanoutFunction", "", "begins_with(SK, :at)", ""), denied},
		"the index, by the sweep":                      {c.query("SweepFunction", "due", due, "DUE#link#1"), ""},
		"the index, by another function":               {c.query("FanoutFunction", "due", due, "DUE#link#1"), denied},
		"a batch":                                      {batch("DeliverFunction", "DLV#1", "HOOKS#1"), ""},
		"a batch with one row of another partition":    {batch("DeliverFunction", "DLV#1", "KEYS#1"), denied},
		"a transaction":                                {c.transact("KeysFunction", "KEYS#1", "EVTS#1"), ""},
		"a transaction with a forbidden event":         {c.transact("OrgsFunction", "ORG#1", "EVTS#1"), denied},
		"a transaction with the forbidden event first": {c.transact("OrgsFunction", "EVTS#1", "ORG#1"), denied},
		"a write outside of a transaction":             {update("OrgsFunction", "ORG#1"), denied},
		"a last use, outside of a transaction":         {update("AuthorizerFunction", "USED#1"), ""},
		"a last use with an attribute of the index":    {use("AuthorizerFunction", "due"), denied},
		"an attribute of the index, by an authorizer":  {use("KeyAuthorizerFunction", "dueAt"), denied},
		"an attribute of the index, by a program":      {use("GuardPolicy", "due"), denied},
		"a last use with the time to delete it":        {use("GuardPolicy", "purgeAt"), ""},
		"a scan":                                       {scan, denied},
		"a signature":                                  {c.sign("DeliverFunction", "ours", kmstypes.MessageTypeDigest), ""},
		"a signature over a message":                   {c.sign("DeliverFunction", "ours", kmstypes.MessageTypeRaw), denied},
		"a signature with another stack's key":         {c.sign("DeliverFunction", "theirs", kmstypes.MessageTypeDigest), denied},
		"a signature with an unknown key":              {c.sign("DeliverFunction", "none", kmstypes.MessageTypeDigest), "NotFoundException"},
		"a signature by the rotation":                  {c.sign("RotateFunction", "ours", kmstypes.MessageTypeDigest), denied},
		"a new key":                                    {c.createKey("RotateFunction", StackName, kmstypes.KeySpecEccNistP256), ""},
		"a new key without a tag":                      {c.createKey("RotateFunction", "", kmstypes.KeySpecEccNistP256), denied},
		"a new key of another stack":                   {c.createKey("RotateFunction", "other", kmstypes.KeySpecEccNistP256), denied},
		"a new key of another kind":                    {c.createKey("RotateFunction", StackName, kmstypes.KeySpecRsa2048), denied},
		"a tag on another stack's key":                 {c.tag("RotateFunction", "theirs"), denied},
		"a tag on a key of ours":                       {c.tag("RotateFunction", "ours"), ""},
		"a tag on a key without tags":                  {c.tag("RotateFunction", "plain"), ""},
		"a message":                                    {c.send("WebhooksFunction", "DeliveryQueue"), ""},
		"a message to another queue":                   {c.send("WebhooksFunction", "FanoutDeadLetters"), "AccessDenied"},
		"a message by a function without the right":    {c.send("OrgsFunction", "DeliveryQueue"), "AccessDenied"},
	} {
		if got := code(t, call.err); got != call.want {
			t.Errorf("%s: %q, want %q (%v)", what, got, call.want, call.err)
		}
	}
}

// TestRotationMayOnlyUseTheNamedTags checks that each new key has the stack's tag, and no other tags than the names in the
// parameter KeyTagNames.
func TestRotationMayOnlyUseTheNamedTags(t *testing.T) {
	plain := newClients(t)
	extra := newClients(t, `"Default":"","Description":"Names of tags, separated`, `"Default":"team,env","Description":"Names of tags, separated`)
	for _, c := range []struct {
		clients clients
		tags    string // the names, separated by blanks
		allowed bool
	}{
		{plain, "latchkey:stack", true}, {plain, "latchkey:stack team", false},
		{extra, "latchkey:stack team env", true}, {extra, "latchkey:stack", true},
		{extra, "latchkey:stack team other", false}, {extra, "team env", false},
	} {
		in := &kms.CreateKeyInput{KeySpec: kmstypes.KeySpecEccNistP256, KeyUsage: kmstypes.KeyUsageTypeSignVerify}
		for _, name := range strings.Fields(c.tags) {
			in.Tags = append(in.Tags, kmstypes.Tag{TagKey: &name, TagValue: aws.String(StackName)})
		}
		_, err := c.clients.kms("RotateFunction").CreateKey(t.Context(), in)
		if refused := code(t, err) == "AccessDeniedException"; refused == c.allowed {
			t.Errorf("%s: %v, want allowed: %v", c.tags, err, c.allowed)
		}
	}
}

// TestUnreliableConditionsAllowNothing makes two calls. The template's roles allow both. The changed roles rely on facts that AWS may
// not know at the call, and must refuse both: the tag of a new key, and a condition key that a ConditionCheckItem does not have.
func TestUnreliableConditionsAllowNothing(t *testing.T) {
	const writes = `"Action":["dynamodb:PutItem","dynamodb:UpdateItem"],`
	check := func(c clients) error {
		_, err := c.dynamoDB("OrgsFunction").TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{ConditionCheck: &types.ConditionCheck{TableName: table, Key: keyed("ORG#1"), ConditionExpression: aws.String("attribute_exists(PK)")}},
		}})
		return err
	}
	signByFirstKey := func(c clients) error { return c.sign("DeliverFunction", "SigningKey", kmstypes.MessageTypeDigest) }
	for what, v := range map[string]struct {
		call    func(clients) error
		replace []string // changes the role, so that only the unreliable condition remains
	}{
		"the first key by its tag": {signByFirstKey, []string{`{"Fn::GetAtt":["SigningKey","Arn"]},"Sid":"SignByFirstKey"`, `{"Fn::GetAtt":["DeliveryQueue","Arn"]},"Sid":"SignByFirstKey"`}},
		"a check in a transaction": {check, []string{`["dynamodb:ConditionCheckItem"]`, `["dynamodb:GetItem"]`, writes, strings.Replace(writes, `]`, `,"dynamodb:ConditionCheckItem"]`, 1)}},
	} {
		if got := code(t, v.call(newClients(t))); got != "" {
			t.Errorf("%s: %s", what, got)
		}
		if got := code(t, v.call(newClients(t, v.replace...))); got != denied {
			t.Errorf("%s, with changed roles: %q, want %s", what, got, denied)
		}
	}
}
