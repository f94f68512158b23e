package guard_test

import (
	"fmt"
	"net/http"

	"latchkey/pkg/guard"
)

func ExampleFromContext() {
	list := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, ok := guard.FromContext(r.Context())
		if !ok {
			panic("this route has no g.Handler")
		}
		_, _ = fmt.Fprintln(w, caller.OrgID, caller.KeyID, caller.HasScopes("invoices:write"))
	})
	http.Handle("GET /invoices", guard.New(guard.Config{Table: "t"}).Handler(list, guard.RequireScope("invoices:read")))
	// Output:
}
