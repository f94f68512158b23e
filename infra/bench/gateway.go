package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"latchkey/infra/local/backing"
	"latchkey/infra/local/gateway"
	"latchkey/infra/local/lambda"
	"latchkey/infra/local/translated"
)

// The functions behind POST /app/get, by their logical ids, and the answers of the programs in their places that do
// nothing.
var behindAppGet = []struct{ name, program, answer string }{
	{"AuthorizerFunction", "authorizer", `{"principalId":"x","policyDocument":{"Version":"2012-10-17","Statement":[{"Action":"execute-api:Invoke","Effect":"Allow","Resource":"*"}]}}`},
	{"AppsFunction", "apps", `{"statusCode":200,"body":"{}"}`},
}

// throughGateway measures the microseconds of processor time of a request through the local gateway, beside
// one whose two functions do nothing. The client and the gateway count, and the database does not.
func throughGateway(ctx context.Context, b *bench) (value, base int64, err error) {
	database, err := startLoaded(ctx, b.world)
	if err != nil {
		return 0, 0, err
	}
	defer database.Stop() //nolint:errcheck // it ends with this program anyway
	template, err := translated.Translate(ctx, "template.yaml", translated.Options{Parameters: map[string]string{"Issuer": b.issuer.URL}})
	if err != nil {
		return 0, 0, err
	}
	api, err := template.API()
	if err != nil {
		return 0, 0, err
	}
	env := map[string]string{"GOGC": b.gogc, "AWS_TRY_TIMEOUT_MS": "60000"}
	for _, variable := range b.env() {
		name, text, _ := strings.Cut(variable, "=")
		env[name] = text
	}
	env["AWS_ENDPOINT_URL_DYNAMODB"] = database.Endpoint
	var ours, bare []lambda.Function
	for _, f := range behindAppGet {
		one := lambda.Function{Name: f.name, Path: b.programs + "/" + f.program, Timeout: 10 * time.Second, Memory: 512, Env: env}
		ours = append(ours, one)
		one.Path, one.Env = b.baseline+"/answer", map[string]string{"ANSWER": f.answer}
		bare = append(bare, one)
	}
	if value, err = b.processorTime(ctx, api, ours); err == nil {
		base, err = b.processorTime(ctx, api, bare)
	}
	return value, base, err
}

// processorTime returns the microseconds of processor time of one request, of this process and the functions.
func (b *bench) processorTime(ctx context.Context, api *translated.API, functions []lambda.Function) (int64, error) {
	const warm, measured = 300, 2_000
	logs, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(logs) }()
	service, err := lambda.Start(lambda.Options{Functions: functions, LogDir: logs, Region: backing.Region, AccountID: translated.AccountID})
	if err != nil {
		return 0, err
	}
	defer service.Close()
	g, err := gateway.New(api, service, nil)
	if err != nil {
		return 0, err
	}
	server := httptest.NewServer(g)
	defer server.Close()
	if err := b.requests(ctx, server.URL, warm); err != nil {
		return 0, err
	}
	before, err := used(service)
	if err != nil {
		return 0, err
	}
	if err := b.requests(ctx, server.URL, measured); err != nil {
		return 0, err
	}
	after, err := used(service)
	return (after - before).Microseconds() / measured, err
}

// requests makes requests with the API key, one after the other.
func (b *bench) requests(ctx context.Context, url string, n int) error {
	for range n {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/app/get", strings.NewReader("{}"))
		if err != nil {
			return err
		}
		req.Header = http.Header{"Authorization": {"Bearer " + b.key}, "Content-Type": {"application/json"}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("POST /app/get: %s: %s", res.Status, answer)
		}
	}
	return nil
}

// used returns the processor time that this process and the copies of its functions have used.
func used(service *lambda.Service) (time.Duration, error) {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return 0, err
	}
	sum := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	for _, f := range behindAppGet {
		for _, c := range service.Copies(f.name) {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID))
			if err != nil {
				return 0, err
			}
			_, text, _ := strings.Cut(string(stat), ") ") // behind the program's name, from the third field on
			fields := strings.Fields(text)
			if len(fields) < 13 {
				return 0, fmt.Errorf("process %d has the status %s", c.PID, stat)
			}
			for _, ticks := range fields[11:13] { // utime and stime
				n, err := strconv.ParseInt(ticks, 10, 64)
				if err != nil {
					return 0, err
				}
				sum += time.Duration(n) * time.Second / 100 // USER_HZ of Linux
			}
		}
	}
	return sum, nil
}
