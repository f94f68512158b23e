package api_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"latchkey/pkg/route"
	"latchkey/pkg/servicetest"
)

// rights starts the program that checks calls against the roles in template.yaml, once for all tests.
var rights = sync.OnceValues(func() (*servicetest.Service, error) { return servicetest.Start("check-calls") })

// functionKey is the key of a context value: the folder of the function that answers the request.
type functionKey struct{}

// inFunction marks the requests of a handler with their route and function, as API Gateway does.
func inFunction(rt route.Route, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), functionKey{}, rt.Function))
		r.Pattern = rt.Name()
		h.ServeHTTP(w, r)
	})
}

// roleCheck is an HTTP transport that checks each call to DynamoDB. The test fails if the role of the calling function does not
// allow the call, because AWS would refuse it. Calls of the test itself are not checked.
type roleCheck struct {
	t     *testing.T
	table string
	next  http.RoundTripper
}

// RoundTrip checks one call and passes it on.
func (c roleCheck) RoundTrip(r *http.Request) (*http.Response, error) {
	folder, ok := r.Context().Value(functionKey{}).(string)
	if !ok {
		return c.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	service, err := rights()
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	// In the roles, the table has the name latchkey.
	body = bytes.ReplaceAll(body, []byte(`"`+c.table+`"`), []byte(`"latchkey"`))
	var missing string
	if err := service.Ask(map[string]any{"function": folder, "operation": operation, "body": body}, &missing); err != nil {
		return nil, err
	}
	if missing != "" {
		c.t.Errorf("a role of the template does not allow: %s", missing)
	}
	return c.next.RoundTrip(r)
}
