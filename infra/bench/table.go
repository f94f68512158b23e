package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"latchkey/infra/lab/backing"
	"latchkey/pkg/boot"
	"latchkey/pkg/store"
)

// startTable starts a DynamoDB Local that has the template's table.
func startTable(ctx context.Context) (*backing.Process, error) {
	database, err := backing.StartDynamoDB(ctx, backing.DynamoDBOptions{})
	if err != nil {
		return nil, err
	}
	if err := backing.CreateTable(ctx, backing.NewDynamoDBClient(database.Endpoint), "template.yaml", tableName); err != nil {
		return nil, errors.Join(err, database.Stop())
	}
	return database, nil
}

// startLoaded starts a DynamoDB Local that has the rows of a world.
func startLoaded(ctx context.Context, w *world) (*backing.Process, error) {
	database, err := startTable(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range w.services.rows {
		err = errors.Join(err, put(ctx, database.Endpoint, []string{string(row)}))
	}
	if err != nil {
		return nil, errors.Join(err, database.Stop())
	}
	return database, nil
}

// storeOn returns a store that calls a database by an HTTP client.
func storeOn(database *backing.Process, client aws.HTTPClient) *store.Store {
	config := boot.Config("us-east-1", aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil)
	config.HTTPClient = client
	return store.New(dynamodb.NewFromConfig(config, func(o *dynamodb.Options) { o.BaseEndpoint = &database.Endpoint }), tableName)
}

// put writes rows in DynamoDB's JSON, 25 at most.
func put(ctx context.Context, endpoint string, rows []string) error {
	var requests []string
	for _, row := range rows {
		requests = append(requests, `{"PutRequest":{"Item":`+row+`}}`)
	}
	answer, err := raw(ctx, endpoint, "BatchWriteItem", fmt.Sprintf(`{"RequestItems":{%q:[%s]}}`, tableName, strings.Join(requests, ",")))
	var out struct{ UnprocessedItems map[string]any }
	if err == nil {
		err = json.Unmarshal(answer, &out)
	}
	if err == nil && (len(out.UnprocessedItems) > 0 || strings.Contains(string(answer), "__type")) {
		err = fmt.Errorf("rows are not written: %.200s", answer)
	}
	return err
}

// rowsOf returns every row of the table in DynamoDB's JSON.
func rowsOf(ctx context.Context, endpoint string) (map[[2]string]json.RawMessage, error) {
	answer, err := raw(ctx, endpoint, "Scan", fmt.Sprintf(`{"TableName":%q}`, tableName))
	if err != nil {
		return nil, err
	}
	var out struct{ Items []json.RawMessage }
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, err
	}
	rows := map[[2]string]json.RawMessage{}
	for _, item := range out.Items {
		var k rowKey
		if err := json.Unmarshal(item, &k); err != nil {
			return nil, err
		}
		rows[[2]string{k.PK.S, k.SK.S}] = item
	}
	if len(rows) == 0 {
		return nil, errors.New("the table has no rows")
	}
	return rows, nil
}

// raw makes one call of DynamoDB Local, which checks no signature.
func raw(ctx context.Context, endpoint, operation, body string) (answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{
		"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Target": {"DynamoDB_20120810." + operation},
		"Authorization": {"AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"},
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	answer, err = io.ReadAll(res.Body)
	return answer, errors.Join(err, res.Body.Close())
}
