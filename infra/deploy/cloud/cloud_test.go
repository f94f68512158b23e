package cloud_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/tools"
)

var named = cloud.Params{"FunctionName": "authorizer"}

// TestMain is also the program that TestALaterCallIsMadeWhenItsProgramIsKilled kills.
func TestMain(m *testing.M) {
	python := os.Getenv("PYTHON_OF_TEST")
	if python == "" {
		os.Exit(m.Run())
	}
	client, err := cloud.New(context.Background(), python, os.Environ(), "eu-central-1")
	if err == nil {
		_, err = client.Later("lambda", "delete_function_concurrency", named)
	}
	fmt.Println("READY", err)
	time.Sleep(time.Minute)
}

// TestALaterCallIsMadeWhenItsProgramIsKilled wants the call once: not before the program is killed, and not never.
func TestALaterCallIsMadeWhenItsProgramIsKilled(t *testing.T) {
	t.Parallel()
	sam, err := tools.SAM(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := make(chan string, 10)
	aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls <- r.Method + " " + r.URL.Path
		w.WriteHeader(http.StatusNoContent)
	}))
	defer aws.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PYTHON_OF_TEST="+cloud.Python(sam), "AWS_ENDPOINT_URL="+aws.URL, "AWS_ACCESS_KEY_ID=AKIDLOCAL", "AWS_SECRET_ACCESS_KEY=local", "AWS_EC2_METADATA_DISABLED=true")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "READY <nil>\n" {
		t.Fatalf("%q %v", line, err)
	}
	time.Sleep(time.Second)
	if len(calls) != 0 {
		t.Fatalf("called before: %s", <-calls)
	}
	_ = cmd.Process.Kill() // an error: it has ended, which the test would see
	_ = cmd.Wait()
	select {
	case call := <-calls:
		if want := "DELETE /2017-10-31/functions/authorizer/concurrency"; call != want {
			t.Errorf("%s, want %s", call, want)
		}
	case <-time.After(time.Minute):
		t.Fatal("the call was not made")
	}
}
