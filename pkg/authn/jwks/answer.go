package jwks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"latchkey/pkg/cause"
	"latchkey/pkg/fetch"
)

// MaxAnswer bounds an answer of the issuer, in bytes.
const MaxAnswer = 1 << 20

// statusError is the error for an answer with this status, which is not 200.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("jwks: the issuer answers %d", int(e)) }

// read fetches a document of the issuer and returns its body.
func read(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, cause.Of(err)
	}
	req.Header.Set("Accept", "application/json")
	a, err := fetch.Do(client, req, MaxAnswer)
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, statusError(a.Status)
	}
	return a.Body, nil
}

// checkAddress checks an address in a discovery document: it must be absolute. Its scheme must be https, or http on this
// machine when the issuer's own scheme is http, as on a developer's machine.
func checkAddress(address, issuer string) error {
	isPlain := strings.HasPrefix(strings.ToLower(address), "http:")
	if !fetch.IsSafe(address) || isPlain && !strings.HasPrefix(issuer, "http:") {
		return errors.New("jwks: the discovery document has an address that cannot be used")
	}
	return nil
}
