package lambda

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// TestARequestKeepsItsTrace: the context of a request has the trace id of its header, but no other text of the header.
func TestARequestKeepsItsTrace(t *testing.T) {
	const root = "1-5759e988-bd862e3fe1be46a994272793"
	for header, want := range map[string]string{
		"Root=" + root: root,
		"Self=1-67891234-x;Root=" + root + ";Sampled=1": root,
		"":   "",
		root: "",
		"Root=lk_made_up_by_a_client_of_35_letters": "",
		"Root=" + root + "0":                        "",
		"Root=" + root[1:]:                          "",
	} {
		got := map[string]string{}
		note := func(door string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got[door] = problem.Trace(r.Context())
				w.WriteHeader(http.StatusNoContent)
			})
		}
		if _, err := HTTP(note("api"))(t.Context(), events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/", Headers: map[string]string{"X-Amzn-Trace-Id": header}}); err != nil {
			t.Fatal(err)
		}
		if _, err := URL(note("url"))(t.Context(), events.APIGatewayV2HTTPRequest{Headers: map[string]string{"x-amzn-trace-id": header}}); err != nil {
			t.Fatal(err)
		}
		for door, event := range map[string]string{
			"authorizer":                  strings.Replace(sample, `"headers":{`, `"headers":{"X-Amzn-Trace-Id":"`+header+`",`, 1),
			"authorizer, multiple values": strings.Replace(sample, `"multiValueHeaders":{`, `"multiValueHeaders":{"x-amzn-trace-id":["`+header+`"],`, 1),
		} {
			if event == sample {
				t.Fatalf("%s: the sample has no such member", door)
			}
			if _, err := invoke(t, event, func(ctx context.Context, _, _ string, _ []string) (principal.Principal, error) {
				got[door] = problem.Trace(ctx)
				return principal.Principal{}, problem.New(problem.InvalidCredentials, "")
			}); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) != 4 {
			t.Errorf("%d doors got the request, want 4", len(got))
		}
		for door, trace := range got {
			if trace != want {
				t.Errorf("%s: %q is %q, want %q", door, header, trace, want)
			}
		}
	}
}
