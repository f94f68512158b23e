// Command catalogue is `make catalogue`: it checks the schemas and the examples of a catalogue, which the API does not evaluate, and puts it.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"latchkey/infra/tools"
	"latchkey/pkg/fetch"
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
	token, err := tools.Output(ctx, "", nil, "sh", "-c", tokenCommand)
	if err != nil {
		return fmt.Errorf("TOKEN_CMD: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, strings.TrimSuffix(base, "/")+"/v1/catalogue", bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + strings.TrimSpace(token)}, "Content-Type": {"application/json"}}
	answer, err := fetch.Do(&http.Client{Timeout: 30 * time.Second}, r, 1<<16)
	if err == nil && answer.Status != http.StatusNoContent {
		err = fmt.Errorf("%d: %s", answer.Status, answer.Body)
	}
	return err
}

// check checks that each schema is valid and refers to nothing outside of itself, and that each example matches its schema. The API checks
// the rest.
func check(text []byte) error {
	var in struct {
		Events []struct {
			Type            string
			Schema, Example any
		}
	}
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber() // as package jsonschema wants them
	if err := numbers.Decode(&in); err != nil {
		return err
	}
	for _, e := range in.Events {
		if e.Schema == nil {
			continue
		}
		const name = "urn:latchkey:schema"
		c := jsonschema.NewCompiler()
		c.UseLoader(jsonschema.SchemeURLLoader{}) // it loads nothing
		var compiled *jsonschema.Schema
		err := cmp.Or(inside(e.Schema), c.AddResource(name, e.Schema))
		if err == nil {
			compiled, err = c.Compile(name)
		}
		if err == nil && e.Example != nil {
			err = compiled.Validate(e.Example)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.Type, err)
		}
	}
	return nil
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
