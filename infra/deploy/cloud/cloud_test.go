package cloud_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/standin"
	"latchkey/infra/tools"
	"latchkey/pkg/fetch"
)

// functionName has the parameters of the call that the program of TestMain makes.
var functionName = cloud.Params{"FunctionName": "authorizer"}

// TestMain is also the program that TestALaterCallIsMadeWhenItsProgramIsKilled kills.
func TestMain(m *testing.M) {
	python := os.Getenv("PYTHON_OF_TEST")
	if python == "" {
		os.Exit(m.Run())
	}
	client, err := cloud.New(context.Background(), python, os.Environ(), "eu-central-1")
	if err == nil {
		_, err = client.Later("lambda", "delete_function_concurrency", functionName)
	}
	fmt.Println("READY", err)
	time.Sleep(time.Minute)
}

// TestALaterCallIsMadeWhenItsProgramIsKilled checks that the call is made exactly once, and only after the program is killed.
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
		t.Fatalf("called before the program was killed: %s", <-calls)
	}
	_ = cmd.Process.Kill() // fails only if the program has ended already
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

// TestASignedAddressNeedsNoRedirect reads objects at signed addresses, as a function does. The stand-in's global host of S3 answers 307.
func TestASignedAddressNeedsNoRedirect(t *testing.T) {
	t.Parallel()
	sam, err := tools.SAM(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	aws := standin.Start()
	defer aws.Close()
	hosts, err := exec.CommandContext(t.Context(), cloud.Python(sam), "../standin/testdata/hosts.py", t.TempDir(), aws.URL).Output()
	if err != nil {
		t.Fatal(err)
	}
	env := append(strings.Fields(string(hosts)), "AWS_ACCESS_KEY_ID=AKIDLOCAL", "AWS_SECRET_ACCESS_KEY=local", "AWS_EC2_METADATA_DISABLED=true")
	for _, region := range []string{"us-east-1", "us-west-2", "eu-central-1", "ap-southeast-4"} { // an account must enable ap-southeast-4 first
		client, err := cloud.New(t.Context(), cloud.Python(sam), env, region)
		if err != nil {
			t.Fatal(err)
		}
		object := cloud.Params{"Bucket": "aws-sam-bucket", "Key": region + "/jwks.json"}
		put := cloud.Params{"Body": region}
		maps.Copy(put, object)
		var address string
		errPut := client.Call("s3", "put_object", put, nil)
		errSign := client.Call("s3", "generate_presigned_url", cloud.Params{"ClientMethod": "get_object", "Params": object, "ExpiresIn": 60}, &address)
		if err := errors.Join(errPut, errSign); err != nil {
			t.Fatal(err)
		}
		if want := "/aws-sam-bucket.s3." + region + ".amazonaws.com/"; !strings.HasPrefix(strings.TrimPrefix(address, aws.URL), want) {
			t.Errorf("%s: signed for %s", region, address)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := fetch.Do(http.DefaultClient, req, 1000); err != nil || a.Status != http.StatusOK || string(a.Body) != region {
			t.Errorf("%s: %d %s, %v", region, a.Status, a.Body, err)
		}
	}
}
