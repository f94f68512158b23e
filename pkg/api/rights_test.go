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

// rights starts the check of calls against the roles in template.yaml, once for all tests.
var rights = sync.OnceValues(func() (*servicetest.Service, error) { return servicetest.Start("check-calls") })

// functionKey is the key, in a context, of the folder of the function that answers the request.
type functionKey struct{}

// inFunction marks the requests of a handler as requests of a route and its function, as API Gateway does.
func inFunction(rt route.Route, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), functionKey{}, rt.Function))
		r.Pattern = rt.Name()
		h.ServeHTTP(w, r)
	})
}

// roleCheck is an HTTP transport that fails the test at each call to DynamoDB that the role of the
// calling function does not allow. On AWS such a call is refused. Calls of the test itself pass.
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
	// The roles name the stack's table, which has this name.
	body = bytes.ReplaceAll(body, []byte(`"`+c.table+`"`), []byte(`"latchkey"`))
	var lacks string
	if err := service.Ask(map[string]any{"function": folder, "operation": operation, "body": body}, &lacks); err != nil {
		return nil, err
	}
	if lacks != "" {
		c.t.Errorf("missing in the template's roles: %s", lacks)
	}
	return c.next.RoundTrip(r)
}
