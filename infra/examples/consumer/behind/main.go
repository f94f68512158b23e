// Command behind is a server behind a proxy that has the configuration of the folder above, for nginx or for Caddy. The proxy's
// headers say who calls, so no one but the proxy may reach the server. It is an example, and `make doors` runs it.
package main

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"
)

func main() {
	http.Handle("GET /invoices", onlyFromProxy(os.Getenv("PROXY_SECRET"), showCaller))
	server := &http.Server{Addr: cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8080"), ReadHeaderTimeout: 5 * time.Second}
	if err := server.ListenAndServe(); err != nil {
		slog.Error("the server ended", "error", err)
		os.Exit(1)
	}
}

// onlyFromProxy answers 403 to a request without the secret that the proxy sends. With secret "" it lets every request through.
func onlyFromProxy(secret string, next http.HandlerFunc) http.Handler {
	want := sha256.Sum256([]byte(secret)) // hashes have one length, so the time of the comparison tells nothing
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := sha256.Sum256([]byte(r.Header.Get("X-Latchkey-Proxy-Secret")))
		if secret != "" && subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
			http.Error(w, "This server answers its proxy only.", http.StatusForbidden)
			return
		}
		next(w, r)
	})
}

// showCaller answers with the caller's org, where a real server has its invoices.
func showCaller(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Latchkey-V") != "1" || r.Header.Get("X-Latchkey-Kind") != "key" {
		http.Error(w, "The proxy has not checked a key.", http.StatusInternalServerError)
		return
	}
	_, _ = fmt.Fprintln(w, r.Header.Get("X-Latchkey-Org-Id"))
}
