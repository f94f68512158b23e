// Command behind is an example of a server behind a proxy (../nginx.conf or ../Caddyfile). The proxy's headers name the caller, so
// only the proxy may reach the server. `make doors` runs this program.
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
	want := sha256.Sum256([]byte(secret)) // all hashes have the same length, so the time of the comparison reveals nothing
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := sha256.Sum256([]byte(r.Header.Get("X-Latchkey-Proxy-Secret")))
		if secret != "" && subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
			http.Error(w, "This server answers its proxy only.", http.StatusForbidden)
			return
		}
		next(w, r)
	})
}

// showCaller answers with the caller's org. A real server answers with invoices.
func showCaller(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Latchkey-V") != "1" || r.Header.Get("X-Latchkey-Kind") != "key" {
		http.Error(w, "The proxy has not checked a key.", http.StatusInternalServerError)
		return
	}
	_, _ = fmt.Fprintln(w, r.Header.Get("X-Latchkey-Org-Id"))
}
