package bus_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"latchkey/pkg/boot"
	"latchkey/pkg/pipeline/bus"
)

// TestARefusedEntryIsAnError: EventBridge refuses an entry with the status 200.
func TestARefusedEntryIsAnError(t *testing.T) {
	var sent, answer string
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("X-Amz-Target") != "AWSEvents.PutEvents" {
			t.Errorf("%s: %v", r.Header.Get("X-Amz-Target"), err)
		}
		sent = string(body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	cfg := boot.Config("us-east-1", aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, boot.NewHTTPClient())
	cfg.BaseEndpoint = &server.URL
	put := func() error {
		return bus.New(cfg, "owner").Put(context.Background(), "latchkey.event", time.Unix(1_800_000_000, 0), []byte(`{"a":"<b>"}`))
	}
	answer = `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`
	if err := put(); err != nil {
		t.Error(err)
	}
	for _, part := range []string{`"EventBusName":"owner"`, `"Source":"latchkey"`, `"DetailType":"latchkey.event"`, `"Time":1800000000`, `"Detail":"{\"a\":\"<b>\"}"`} {
		if !strings.Contains(sent, part) {
			t.Errorf("%s has no %s", sent, part)
		}
	}
	answer = `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"InternalFailure","ErrorMessage":"not now"}]}`
	if err := put(); err == nil || !strings.Contains(err.Error(), "InternalFailure: not now") {
		t.Errorf("a refused entry: %v", err)
	}
	status, answer = http.StatusBadRequest, `{"__type":"AccessDeniedException","message":"no right"}`
	if err := put(); err == nil || !strings.Contains(err.Error(), "AccessDeniedException") {
		t.Errorf("a refused call: %v", err)
	}
}
