package consumers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"latchkey/pkg/cause"
	"latchkey/pkg/fetch"
)

// Client reads the settings of API Gateway by requests that it signs itself. AWS's own clients have 600 operations, which would
// make the function much larger.
type Client struct {
	AWS  aws.Config   // the region and the credentials
	HTTP *http.Client // needs no time-out, because Client bounds each try
	URL  string       // the address of API Gateway's management API, without a path; https, or http on this machine
}

const (
	tries      = 5                // for one request: API Gateway accepts only a few requests per second from one account
	tryTimeout = 30 * time.Second // for one try: API Gateway needs time for an export
	pageSize   = "500"            // the maximum for REST APIs
	maxAnswer  = 64 << 20         // bytes; an export has the whole document of an API
)

// Page reads one page of a list, as API.Page describes. The paths of HTTP and WebSocket APIs begin with /v2, and have other
// names for the parameters.
func (c *Client) Page(ctx context.Context, path, token string, out any) error {
	size, position := "limit", "position"
	if strings.HasPrefix(path, "/v2/") {
		size, position = "maxResults", "nextToken"
	}
	query := url.Values{size: {pageSize}}
	if token != "" {
		query.Set(position, token)
	}
	body, err := c.get(ctx, path, query)
	if err != nil {
		return err
	}
	return cause.Of(json.Unmarshal(body, out))
}

// Export reads the document of a stage, as API.Export describes.
func (c *Client) Export(ctx context.Context, api, stage string) ([]byte, error) {
	return c.get(ctx, "/restapis/"+api+"/stages/"+url.PathEscape(stage)+"/exports/oas30", url.Values{"extensions": {"authorizers"}})
}

// get sends a request. If API Gateway is busy or does not answer, get repeats the request, with tries tries in all. The pauses
// are 1, 2, 3 and 4 seconds. Error: ErrGone for a 404.
func (c *Client) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	if !fetch.IsSafe(c.URL) { // each request contains the session token
		return nil, errors.New("the address of API Gateway must be https, or http on this machine")
	}
	for try := 1; ; try++ {
		status, body, err := c.send(ctx, path, query)
		isBusy := status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
		switch {
		case err == nil && status == http.StatusOK:
			return body, nil
		case err == nil && status == http.StatusNotFound:
			return nil, fmt.Errorf("GET %s: %w", path, ErrGone)
		case err == nil && !isBusy:
			return nil, fmt.Errorf("GET %s: %d", path, status)
		case err == nil && try == tries:
			return nil, fmt.Errorf("GET %s: %d, %d times", path, status, tries)
		case try == tries:
			return nil, fmt.Errorf("GET %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(try) * time.Second):
		}
	}
}

// send sends a request once. It signs the request with AWS's signature (Signature Version 4).
func (c *Client) send(ctx context.Context, path string, query url.Values) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path+"?"+query.Encode(), nil)
	if err != nil {
		return 0, nil, cause.Of(err)
	}
	req.Header.Set("Accept", "application/json")
	credentials, err := c.AWS.Credentials.Retrieve(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("no credentials: %w", cause.Of(err))
	}
	emptyBody := sha256.Sum256(nil)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, req, hex.EncodeToString(emptyBody[:]), "apigateway", c.AWS.Region, time.Now()); err != nil {
		return 0, nil, cause.Of(err)
	}
	a, err := fetch.Do(c.HTTP, req, maxAnswer)
	return a.Status, a.Body, err
}
