package lab_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/harness/lab"
)

const toy = "testdata/template.yaml"

func start(t *testing.T, o lab.Options) *lab.Stack {
	t.Helper()
	s, err := lab.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// request sends a request and returns the answer's status and body. In headers, a value follows each name.
func request(t *testing.T, method, url string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestStackServesTheTemplate(t *testing.T) {
	t.Parallel()
	requests, err := os.Create(filepath.Join(t.TempDir(), "requests"))
	if err != nil {
		t.Fatal(err)
	}
	defer requests.Close()
	s := start(t, lab.Options{Template: toy, Requests: requests})
	// The schedule has run, with the template's key and table.
	if status, body := request(t, "GET", s.URL+"/open"); status != 200 || body != "ticked" {
		t.Errorf("open route: %d %s", status, body)
	}
	if status, body := request(t, "GET", s.URL+"/v1/orgs"); status != 401 || body != `{"code":"missing_credentials"}` {
		t.Errorf("without credentials: %d %s", status, body)
	}
	if status, body := request(t, "GET", s.URL+"/v1/orgs", "Authorization", "x"); status != 200 || body != "ticked" {
		t.Errorf("with credentials: %d %s", status, body)
	}
	for state, c := range map[string]struct{ begin, end string }{"stopped": {"stop", "start"}, "paused": {"pause", "resume"}} {
		if status, body := request(t, "POST", s.Control+"/db/"+c.begin); status != 204 {
			t.Fatal(status, body)
		}
		if status, _ := request(t, "GET", s.URL+"/open"); status != 503 {
			t.Errorf("database %s: %d", state, status)
		}
		if status, body := request(t, "POST", s.Control+"/db/"+c.end); status != 204 {
			t.Fatal(status, body)
		}
		until(t, "an answer from the database that is no longer "+state, func() bool {
			status, body := request(t, "GET", s.URL+"/open")
			return status == 200 && body == "ticked"
		})
	}
	if copies := s.Lambda.Copies("AuthorizerFunction"); len(copies) != 1 || copies[0].Answered < 2 {
		t.Errorf("copies %+v", copies)
	}
	if lines, err := os.ReadFile(requests.Name()); err != nil || !strings.Contains(string(lines), "GET /open 200") {
		t.Errorf("request lines: %s %v", lines, err)
	}
}

func TestTheErrorNamesAPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr)
	s, err := lab.Start(context.Background(), lab.Options{Template: toy, Port: port.Port, Dir: t.TempDir()})
	if err == nil {
		_ = s.Close()
		t.Fatal("two programs listen on one port")
	}
	if _, number, _ := net.SplitHostPort(port.String()); !strings.Contains(err.Error(), number) {
		t.Errorf("the error does not name the port: %v", err)
	}
}
