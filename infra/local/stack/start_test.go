package stack_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"latchkey/infra/local/stack"
)

func start(t *testing.T, o stack.Options) *stack.Stack {
	t.Helper()
	s, err := stack.Start(context.Background(), o)
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

func do(t *testing.T, client *http.Client, req *http.Request) (int, string) {
	t.Helper()
	res, err := client.Do(req)
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

// get returns the status and the body of an answer.
func get(t *testing.T, url, authorization string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", authorization)
	return do(t, http.DefaultClient, req)
}
