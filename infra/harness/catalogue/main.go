// Command catalogue is `make catalogue`: it checks the schemas and the examples of a catalogue, which the API does not evaluate, and puts it.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func main() {
	if err := run(context.Background(), os.Getenv("FILE"), os.Getenv("BASE_URL"), os.Getenv("TOKEN_CMD")); err != nil {
		fmt.Fprintln(os.Stderr, "make catalogue:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file, base, tokenCommand string) error {
	if file == "" {
		return errors.New("FILE is not given: a catalogue, as infra/examples/catalogue.json")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := check(text); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "sh", "-c", tokenCommand)
	command.Stderr = os.Stderr
	token, err := command.Output()
	if err != nil {
		return fmt.Errorf("TOKEN_CMD: %w", err)
	}
	return put(ctx, strings.TrimSuffix(base, "/")+"/v1/catalogue", strings.TrimSpace(string(token)), text)
}

func put(ctx context.Context, url, token string, text []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	client := http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusNoContent {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
		return fmt.Errorf("%s: %s", answer.Status, said)
	}
	return nil
}

// check checks that each schema is valid and refers to nothing outside of itself, and that each example matches its schema. The API checks
// the rest.
func check(text []byte) error {
	var in struct {
		Events []struct {
			Type            string
			Schema, Example json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	for _, e := range in.Events {
		if err := checkExample(e.Schema, e.Example); err != nil {
			return fmt.Errorf("%s: %w", e.Type, err)
		}
	}
	return nil
}

func checkExample(schema, example json.RawMessage) error {
	if schema == nil {
		return nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	const name = "urn:latchkey:schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // it loads nothing
	if err := cmp.Or(inside(document), c.AddResource(name, document)); err != nil {
		return err
	}
	compiled, err := c.Compile(name)
	if err != nil || example == nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(example))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

// inside returns an error for a reference to another document: who reads the catalogue could not follow it, or would have to load it.
func inside(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			to, isText := member.(string)
			if isText && (name == "$ref" || name == "$dynamicRef") && !strings.HasPrefix(to, "#") {
				return fmt.Errorf("%s %q is outside of the document", name, to)
			}
			if err := inside(member); err != nil {
				return err
			}
		}
	case []any:
		for _, element := range v {
			if err := inside(element); err != nil {
				return err
			}
		}
	}
	return nil
}
