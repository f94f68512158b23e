package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/deploy/standin"
	"latchkey/infra/lab/backing"
	"latchkey/infra/lab/lambda"
	"latchkey/infra/local/stack"
)

// fakeAWS starts a stand-in that sends the AWS CLI's calls to a local stack, and to an emulator for
// services that the stack does not have.
func fakeAWS(t *testing.T, s *stack.Stack, tables *restoring) *standin.Standin {
	t.Helper()
	front := standin.Start()
	t.Cleanup(front.Close)
	front.Lead(stackOfRunbook, standin.Live{
		Outputs: s.Outputs,
		Invoke: func(function string, payload []byte) ([]byte, error) {
			out, err := s.Invoke(t.Context(), function, payload)
			if errors.Is(err, lambda.ErrThrottled) {
				err = standin.ErrThrottled
			}
			return out, err
		},
		Reserve: s.Reserve,
		Services: map[string]http.Handler{
			"dynamodb": tables, "kms": proxyTo(t, s.DataPlane.KMS), "servicequotas": http.HandlerFunc(quotas), "apigateway": &gatewayAccount{}, "": proxyTo(t, s.DataPlane.SQS),
		},
	})
	return front
}

const stackOfRunbook = "latchkey"

func proxyTo(t *testing.T, endpoint string) *httputil.ReverseProxy {
	t.Helper()
	at, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }}
}

// restoring adds to DynamoDB Local what it does not have: backups, protection from deletion, and
// tables that are busy after each change.
type restoring struct {
	t     *testing.T
	db    *dynamodb.Client
	proxy *httputil.ReverseProxy

	mu        sync.Mutex
	kept      []map[string]types.AttributeValue // the rows at the restore point
	at        int64                             // the restore point, in seconds
	busy      map[string]string                 // the status of a table until it is described
	protected map[string]bool
	backups   map[string]int // how often backups of a table were switched on
}

func newRestoring(t *testing.T, s *stack.Stack) *restoring {
	r := &restoring{
		t: t, db: backing.NewDynamoDBClient(s.DataPlane.DynamoDB), proxy: proxyTo(t, s.DataPlane.DynamoDB),
		busy: map[string]string{}, protected: map[string]bool{}, backups: map[string]int{},
	}
	r.proxy.ModifyResponse = asAWSNames
	return r
}

// asAWSNames puts the stack's region into ARNs. DynamoDB Local calls it ddblocal.
func asAWSNames(res *http.Response) error {
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	body = bytes.ReplaceAll(body, []byte(":ddblocal:"), []byte(":"+backing.Region+":"))
	res.Body = io.NopCloser(bytes.NewReader(body))
	res.ContentLength = int64(len(body))
	res.Header.Set("Content-Length", fmt.Sprint(len(body)))
	res.Header.Del("X-Amz-Crc32")
	return nil
}

// tableCall has the parts of requests that restoring reads.
type tableCall struct {
	TableName, SourceTableName, TargetTableName string
	RestoreDateTime                             float64
	StreamSpecification                         *struct{ StreamViewType string }
	DeletionProtectionEnabled                   *bool
}

func (r *restoring) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var in tableCall
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	answer, code := r.answer(operation, in)
	switch {
	case code != "":
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": code})
	case answer != nil:
		_ = json.NewEncoder(w).Encode(answer)
	default:
		r.proxy.ServeHTTP(w, req)
	}
}

// answer returns the answer, or the code of an error, to a call that is not for DynamoDB Local.
func (r *restoring) answer(operation string, in tableCall) (answer any, code string) {
	status := r.busy[in.TableName]
	switch operation {
	case "RestoreTableToPointInTime":
		return r.restore(in)
	case "DescribeTable":
		delete(r.busy, in.TableName)
		if status != "" {
			return map[string]any{"Table": map[string]any{"TableName": in.TableName, "TableStatus": status}}, ""
		}
	case "UpdateTimeToLive":
		if status == "CREATING" {
			return nil, "ResourceInUseException"
		}
	case "UpdateContinuousBackups":
		if r.backups[in.TableName]++; status == "CREATING" || r.backups[in.TableName] == 1 {
			return nil, "ContinuousBackupsUnavailableException"
		}
		return map[string]any{"ContinuousBackupsDescription": map[string]string{"ContinuousBackupsStatus": "ENABLED"}}, ""
	case "UpdateTable":
		if status != "" {
			return nil, "ResourceInUseException"
		}
		r.busy[in.TableName] = "UPDATING"
		if in.DeletionProtectionEnabled != nil && in.StreamSpecification == nil {
			r.protected[in.TableName] = *in.DeletionProtectionEnabled
			return map[string]any{"TableDescription": map[string]string{"TableStatus": "UPDATING"}}, ""
		}
	}
	return nil, ""
}

// restore makes a table with the rows of the restore point. As AWS documents, it has the key and
// the indexes of the source, and none of the other settings.
func (r *restoring) restore(in tableCall) (any, string) {
	if int64(in.RestoreDateTime) != r.at {
		return nil, "InvalidRestoreTimeException"
	}
	source, err := r.db.DescribeTable(r.t.Context(), &dynamodb.DescribeTableInput{TableName: &in.SourceTableName})
	if err != nil {
		return nil, "TableNotFoundException"
	}
	create := &dynamodb.CreateTableInput{
		TableName: &in.TargetTableName, KeySchema: source.Table.KeySchema, AttributeDefinitions: source.Table.AttributeDefinitions, BillingMode: types.BillingModePayPerRequest,
	}
	for _, i := range source.Table.GlobalSecondaryIndexes {
		create.GlobalSecondaryIndexes = append(create.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{IndexName: i.IndexName, KeySchema: i.KeySchema, Projection: i.Projection})
	}
	if _, err := r.db.CreateTable(r.t.Context(), create); err != nil {
		return nil, "TableAlreadyExistsException"
	}
	for _, row := range r.kept {
		if _, err := r.db.PutItem(r.t.Context(), &dynamodb.PutItemInput{TableName: &in.TargetTableName, Item: row}); err != nil {
			r.t.Error(err)
		}
	}
	r.busy[in.TargetTableName] = "CREATING"
	return map[string]any{"TableDescription": map[string]string{"TableName": in.TargetTableName, "TableStatus": "CREATING"}}, ""
}

// keep reads the rows for a restore to this second.
func (r *restoring) keep(table string, second int64) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.kept = second, nil
	pages := dynamodb.NewScanPaginator(r.db, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		r.kept = append(r.kept, page.Items...)
	}
}

// moto sends a call of the JSON protocol to the emulator.
func moto(t *testing.T, s *stack.Stack, service, target string, body any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.DataPlane.SQS, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", target)
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/"+backing.Region+"/"+service+"/aws4_request, SignedHeaders=host, Signature=a")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if said, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", target, res.Status, said, err)
	}
}
