// Command server is an HTTP server whose routes use package guard: they accept Latchkey's API keys, and users with a role.
// `make doors` runs this example. A program on AWS gets its aws.Config from config.LoadDefaultConfig. This program reads
// environment variables instead, so that go.mod needs no other module.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"latchkey/pkg/guard"
	"latchkey/pkg/problem"
	"latchkey/pkg/service"
)

func main() {
	services, err := service.Parse(os.Getenv("SERVICES"))
	if err != nil {
		slog.Error("SERVICES", "error", err)
		os.Exit(1)
	}
	cfg := aws.Config{
		Region:      os.Getenv("AWS_REGION"),
		Credentials: aws.CredentialsProviderFunc(fromEnvironment),
	}
	if endpoint := os.Getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		cfg.BaseEndpoint = &endpoint
	}
	g := guard.New(guard.Config{
		AWS:   cfg,
		Table: os.Getenv("TABLE"),
		// The values of the deployment's parameters Issuer, JwksUrl, Audience, ClientIds and Services.
		Tokens: &guard.Tokens{
			Issuer: os.Getenv("ISSUER"), JWKSURL: os.Getenv("JWKS_URL"), Audience: os.Getenv("AUDIENCE"), Services: services,
			ClientIDs: strings.FieldsFunc(os.Getenv("CLIENT_IDS"), func(r rune) bool { return r == ',' || r == ' ' }),
		},
		// The values of the parameters ImportedKeys and CountRequests.
		ImportedKeys:  os.Getenv("IMPORTED_KEYS") == "true",
		CountRequests: os.Getenv("COUNT_REQUESTS") == "true",
		Fallback:      fallback(),
		Report: func(r *http.Request, err error) {
			slog.ErrorContext(r.Context(), "a credential was not checked", "path", r.URL.Path, "error", err)
		},
		ReportRefusal: func(r *http.Request, refused *problem.Error) {
			slog.InfoContext(r.Context(), "refused", "path", r.URL.Path, "code", string(refused.Code), "caller", refused.KeyID)
		},
	})
	http.Handle("GET /invoices", g.Handler(http.HandlerFunc(showCaller), guard.RequireScope("invoices:read")))
	http.Handle("GET /orgs/{orgId}/invoices", g.Handler(http.HandlerFunc(showCaller), guard.RequireRole("member")))
	// Customers whose org is suspended can still pay here.
	http.Handle("GET /orgs/{orgId}/invoices/payment", g.Handler(http.HandlerFunc(showCaller), guard.RequireRole("member"), guard.AllowSuspended()))
	server := &http.Server{
		Addr: cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8080"), ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout: 30 * time.Second, // an OrgOf that reads the body must not wait for a client that never sends it
	}
	if err := server.ListenAndServe(); err != nil {
		slog.Error("the server ended", "error", err)
		os.Exit(1)
	}
}

// showCaller answers with the principal. A real server answers with invoices.
func showCaller(w http.ResponseWriter, r *http.Request) {
	p, ok := guard.FromContext(r.Context())
	if !ok { // the route was registered without g.Handler
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(p.Fields()); err != nil {
		slog.ErrorContext(r.Context(), "the answer was not sent", "error", err)
	}
}

func fromEnvironment(context.Context) (aws.Credentials, error) {
	return aws.Credentials{
		AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
	}, nil
}
