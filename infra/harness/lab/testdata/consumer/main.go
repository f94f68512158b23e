// Command consumer is a function of another stack; the API of that stack uses the authorizer of the lab's stack. The function
// answers with the principal from the authorizer, and with the status of a call to DynamoDB: the lab must refuse this call. It uses
// the Runtime API without a library. TestAChangedFunctionIsReplaced edits a copy of this file.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

const body = `{"TableName":"Table"}`

func main() {
	base := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/"
	for {
		next, err := http.Get(base + "next")
		if err != nil {
			os.Exit(1)
		}
		var event struct {
			RequestContext struct{ Authorizer map[string]any }
		}
		_ = json.NewDecoder(next.Body).Decode(&event)
		next.Body.Close()
		answer, _ := json.Marshal(map[string]any{
			"statusCode": 200, "body": fmt.Sprintf("go %v %s", event.RequestContext.Authorizer["principalId"], scan()),
		})
		done, err := http.Post(base+next.Header.Get("Lambda-Runtime-Aws-Request-Id")+"/response", "application/json", bytes.NewReader(answer))
		if err == nil {
			done.Body.Close()
		}
	}
}

// scan calls DynamoDB and returns the status of the answer. The lab knows the caller by the access key id, and checks no
// signature.
func scan() string {
	req, err := http.NewRequest(http.MethodPost, os.Getenv("AWS_ENDPOINT_URL"), strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+os.Getenv("AWS_ACCESS_KEY_ID")+"/20260101/us-east-1/dynamodb/aws4_request, Signature=x")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.Scan")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	return res.Status
}
