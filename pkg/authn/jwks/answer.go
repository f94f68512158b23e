package jwks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"latchkey/pkg/cause"
	"latchkey/pkg/fetch"
)

// MaxAnswer is the largest answer of the issuer, in bytes.
const MaxAnswer = 1 << 20

// statusError is the error for an answer with another status than 200.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("jwks: the issuer answers %d", int(e)) }

// read fetches a document of the issuer.
func read(ctx context.Context, client *http.Client, address string) (fetch.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fetch.Answer{}, cause.Of(err)
	}
	req.Header.Set("Accept", "application/json")
	a, err := fetch.Do(client, req, MaxAnswer)
	if err == nil && a.Status != http.StatusOK {
		err = statusError(a.Status)
	}
	return a, err
}

// readMoved does the same as read, but follows one redirect to the same scheme, host and port: a document may be at another path of its
// server, for example with a slash at its end.
func readMoved(ctx context.Context, client *http.Client, address string) (fetch.Answer, error) {
	a, err := read(ctx, client, address)
	if to, ok := movedTo(address, a); ok {
		return read(ctx, client, to)
	}
	return a, err
}

// movedTo returns the address of a redirect to the same server. ok is false for any other answer.
func movedTo(address string, a fetch.Answer) (to string, ok bool) {
	isRedirect := slices.Contains([]int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, a.Status)
	location := a.Header.Get("Location")
	from, err := url.Parse(address)
	if !isRedirect || location == "" || err != nil {
		return "", false
	}
	next, err := from.Parse(location)
	if err != nil || next.User != nil || originOf(next) != originOf(from) {
		return "", false
	}
	return next.String(), true
}

// originOf returns the scheme, the host in lower case, and the port of a URL.
func originOf(u *url.URL) [3]string {
	port := map[string]string{"https": "443", "http": "80"}[u.Scheme]
	return [3]string{u.Scheme, strings.ToLower(u.Hostname()), cmp.Or(u.Port(), port)}
}

// checkAddress checks an address in a discovery document: it must be absolute. Its scheme must be https. It may be http on this
// machine if the issuer's own scheme is http too, as on a developer's machine.
func checkAddress(address, issuer string) error {
	isPlain := strings.HasPrefix(strings.ToLower(address), "http:")
	if !fetch.IsSafe(address) || isPlain && !strings.HasPrefix(issuer, "http:") {
		return errors.New("jwks: the discovery document has an address that cannot be used")
	}
	return nil
}
