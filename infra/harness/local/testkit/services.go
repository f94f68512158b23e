package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"latchkey/infra/harness/contract"
	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/tools"
)

// serveDB prints {"endpoint", "table"}: the base URL of a database, and the schema of the table in template.yaml. If endpoint
// is "", it starts a database. It returns when its input ends.
func serveDB(ctx context.Context, endpoint string) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	table, err := backing.ReadTable(filepath.Join(root, "template.yaml"))
	if err != nil {
		return err
	}
	if endpoint == "" {
		p, err := backing.StartDynamoDB(ctx, backing.Options{})
		if err != nil {
			return err
		}
		endpoint = p.Endpoint
	}
	return serve(map[string]any{"endpoint": endpoint, "table": table})
}

// serveKMS starts a KMS without keys, and prints {"endpoint"}: its base URL. It returns when its input ends.
func serveKMS(ctx context.Context) error {
	p, err := backing.StartKMS(ctx, backing.Options{})
	if err != nil {
		return err
	}
	return serve(map[string]any{"endpoint": p.Endpoint})
}

// serve prints information for the caller as one line of JSON, and waits for the end of the input. The services end with this
// process.
func serve(info map[string]any) error {
	if err := json.NewEncoder(os.Stdout).Encode(info); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// exchange is a request and its answer.
type exchange struct {
	Method, Path  string // Path is escaped, and a query may follow it
	Request, Body []byte // the bodies of the request and of the answer
	Status        int
	Header        http.Header
}

// checkAnswers reads exchanges as JSON from standard input. For each it prints a JSON string: the difference between the exchange
// and infra/openapi.yaml, or "".
func checkAnswers() error {
	documented, err := contract.Load()
	if err != nil {
		return err
	}
	return answerEach(func(e exchange) (fault string, _ error) {
		if err := check(documented, e); err != nil {
			fault = err.Error()
		}
		return fault, nil
	})
}

// answerEach reads JSON values from the input, and prints the answer to each as a JSON string.
func answerEach[T any](answer func(T) (string, error)) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var question T
		if err := in.Decode(&question); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		text, err := answer(question)
		if err == nil {
			err = out.Encode(text)
		}
		if err != nil {
			return err
		}
	}
}

// check checks the answer, and the body of an accepted request. It skips paths that the document does not have, because the
// gateway answers them.
func check(documented *contract.Contract, e exchange) error {
	if !documented.Has(e.Method, e.Path) {
		return nil
	}
	err := documented.Check(e.Method, e.Path, e.Status, e.Header, e.Body)
	accepted := e.Status >= http.StatusOK && e.Status < http.StatusMultipleChoices
	if accepted {
		err = errors.Join(err, documented.CheckRequest(e.Method, e.Path, e.Request))
	}
	return err
}
