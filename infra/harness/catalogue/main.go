// Command catalogue is `make catalogue`. It checks the schemas and the examples of a catalogue, which the API does not check, and
// sends the catalogue to the API.
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
	tools.Exit("make catalogue: ", run(context.Background(), os.Getenv("FILE"), os.Getenv("BASE_URL"), os.Getenv("TOKEN_CMD")))
}

func run(ctx context.Context, file, base, tokenCommand string) error {
	if file == "" {
		return errors.New("FILE is missing: it names a catalogue such as infra/examples/catalogue.json")
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
	if err == nil {
		fmt.Println("The catalogue is kept.")
	}
	return err
}

// check checks that each schema is valid and has no reference to another document, and that each example matches its schema. The API
// checks the rest.
func check(text []byte) error {
	var in struct {
		Events []struct {
			Type            string
			Schema, Example any
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // package jsonschema expects json.Number
	if err := decoder.Decode(&in); err != nil {
		return err
	}
	for _, e := range in.Events {
		if e.Schema == nil {
			continue
		}
		const name = "urn:latchkey:schema"
		c := jsonschema.NewCompiler()
		c.UseLoader(jsonschema.SchemeURLLoader{}) // a loader that loads no documents
		var compiled *jsonschema.Schema
		err := cmp.Or(checkReferences(e.Schema), c.AddResource(name, e.Schema))
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

// checkReferences returns an error for a reference to another document: readers of the catalogue cannot follow it, or must load it.
func checkReferences(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			to, isText := member.(string)
			if isText && (name == "$ref" || name == "$dynamicRef") && !strings.HasPrefix(to, "#") {
				return fmt.Errorf("%s %q is outside of the document", name, to)
			}
			if err := checkReferences(member); err != nil {
				return err
			}
		}
	case []any:
		for _, element := range v {
			if err := checkReferences(element); err != nil {
				return err
			}
		}
	}
	return nil
}
