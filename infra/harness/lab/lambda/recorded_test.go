package lambda_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/harness/lab/lambda"
)

// TestLambdaBehavesAsRecordedOnAWS compares with recorded facts: the variables of a function, and the answer to a throttled call.
func TestLambdaBehavesAsRecordedOnAWS(t *testing.T) {
	text, err := os.ReadFile("../testdata/recorded.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var facts struct {
		Lambda []struct {
			Of                     string
			Environment            map[string]*string
			Error, Message, Reason string
		}
	}
	if err := yaml.Unmarshal(text, &facts); err != nil || len(facts.Lambda) < 2 {
		t.Fatal(err, "too few facts were read")
	}
	s, _ := start(t, lambda.Options{})
	found := map[string]string{}
	for line := range strings.Lines(call(t, s, `{"Do":"environment"}`).Text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		found[name] = value
	}
	if err := s.SetStopped("Toy", true); err != nil {
		t.Fatal(err)
	}
	_, refused := s.Invoke(context.Background(), "Toy", []byte("{}"))
	for _, fact := range facts.Lambda {
		if want := fmt.Sprintf("%s: %s %s", fact.Error, fact.Message, fact.Reason); fact.Error != "" && fmt.Sprint(refused) != want {
			t.Errorf("%s: %v, on AWS %s", fact.Of, refused, want)
		}
		for name, want := range fact.Environment {
			value, has := found[name]
			if has != (want != nil) || has && value != *want && (*want != "<any>" || value == "") {
				t.Errorf("%s: %s is %q", fact.Of, name, value)
			}
		}
	}
}

// TestATraceReachesTheFunction checks that a call has the trace id of its client, or else a new one.
func TestATraceReachesTheFunction(t *testing.T) {
	s, _ := start(t, lambda.Options{})
	ctx := lambda.WithTrace(context.Background(), "Root=1-0-a")
	answer, err := s.Invoke(ctx, "Toy", []byte(`{"Do":"environment"}`))
	if err != nil || !strings.Contains(string(answer), `\n_X_AMZN_TRACE_ID=Root=1-0-a`) {
		t.Errorf("%s %v", answer, err)
	}
	first, second := call(t, s, `{"Do":"environment"}`).Text, call(t, s, `{"Do":"environment"}`).Text
	_, first, _ = strings.Cut(first, "_X_AMZN_TRACE_ID=Root=1-")
	if first == "" || strings.Contains(second, first) {
		t.Errorf("two calls have the trace %s", first)
	}
}
