package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/tools"
)

// busHasEvents checks that a queue has an event of the stack. queue is its URL. A rule of the stack's event bus sends events to it.
func busHasEvents(t *testing.T, queue string) {
	if queue == "" {
		t.Skip("no queue is given (BUS_QUEUE): nothing was tried")
	}
	sam, err := tools.SAM(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	aws, err := cloud.New(context.WithoutCancel(t.Context()), cloud.Python(sam), os.Environ(), os.Getenv("AWS_REGION"))
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < 3*time.Minute; {
		var out struct{ Messages []struct{ Body string } }
		in := cloud.Params{"QueueUrl": queue, "WaitTimeSeconds": 10, "MaxNumberOfMessages": 10}
		if err := aws.Call("sqs", "receive_message", in, &out); err != nil {
			t.Fatal(err)
		}
		for _, m := range out.Messages {
			var event struct {
				Source string
				Detail map[string]any
			}
			if err := json.Unmarshal([]byte(m.Body), &event); err != nil || !strings.HasPrefix(event.Source, "latchkey") || len(event.Detail) == 0 {
				t.Errorf("an event %.300s: %v", m.Body, err)
			}
			return
		}
	}
	t.Error("no event on the bus within three minutes")
}

// pageFile matches a file that a page of the console refers to.
var pageFile = regexp.MustCompile(`(?:src|href)="([^"]*console/files/[^"]+|files/[^"]+)"`)

// consoleServes reads the console's page and one of its files, if the stack has a console.
func consoleServes(t *testing.T, tg *target) {
	page, err := tg.try(t.Context(), call{method: "GET", path: "/console"})
	if err != nil {
		t.Fatal(err)
	}
	if page.status == http.StatusNotFound {
		t.Skip("the stack has no console: nothing was tried")
	}
	found := pageFile.FindStringSubmatch(page.text)
	if page.status != http.StatusOK || found == nil {
		t.Fatalf("/console: %d, %.300s", page.status, page.text)
	}
	path := found[1][strings.Index(found[1], "files/"):]
	if file := tg.want(t, call{method: "GET", path: "/console/" + path}, 200, ""); len(file.text) == 0 {
		t.Errorf("/console/%s is empty", path)
	}
}

// TestSmokeRetriesAfterAThrottle: a deployed stack may throttle a request, which is then repeated. A local stack must not throttle.
func TestSmokeRetriesAfterAThrottle(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"deployed": 3, "local": 1} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for header, value := range map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store", "Access-Control-Allow-Origin": "*"} {
				w.Header().Set(header, value)
			}
			if requests++; requests < 3 && name == "deployed" {
				w.Header().Set("Content-Type", "application/problem+json")
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = io.WriteString(w, `{"type":"urn:latchkey:problem:unavailable","title":"Temporarily unavailable","status":503,"detail":"b","code":"unavailable","requestId":"r"}`+"\n")
				return
			}
			_, _ = io.WriteString(w, `{"orgs":[]}`+"\n")
		}))
		newTarget(name, server.URL, nil).want(t, call{method: "GET", path: "/v1/orgs"}, 200, "")
		server.Close()
		if requests != want {
			t.Errorf("%s: %d requests, want %d", name, requests, want)
		}
	}
}

// TestSmokeRetriesAFailedConnection starts the server after the first try to connect.
func TestSmokeRetriesAFailedConnection(t *testing.T) {
	t.Parallel()
	site, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := site.Addr().String()
	if err := site.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := newTarget("local", "http://"+at, nil).try(t.Context(), call{method: "GET", path: "/"}); !neverSent(err) {
		t.Errorf("no server listens there, so the request was never sent: %v", err)
	}
	bodies := make(chan string, 1)
	go func() {
		time.Sleep(100 * time.Millisecond)
		if site, err = net.Listen("tcp", at); err == nil {
			_ = http.Serve(site, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				bodies <- string(text)
			}))
		}
	}()
	if r, err := newTarget("deployed", "http://"+at, nil).try(t.Context(), call{method: "POST", path: "/", body: "text"}); err != nil || r.status != 200 || <-bodies != "text" {
		t.Errorf("%d, %v", r.status, err)
	}
}
