package consumers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Client reads API Gateway itself, by signed requests: AWS's own clients for it have 600 operations.
type Client struct {
	AWS  aws.Config   // the region and the credentials
	HTTP *http.Client // each try has its own time-out
	URL  string       // of API Gateway's interface, without a path
}

const (
	tries     = 5                // of one request: API Gateway takes few a second of one account
	within    = 30 * time.Second // the answer to one try: an export takes API Gateway a while
	pageSize  = "500"
	maxAnswer = 64 << 20 // an export is as large as the API's document
)

// Page reads one page of a list.
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
	return json.Unmarshal(body, out)
}

// Export reads the document of a stage.
func (c *Client) Export(ctx context.Context, api, stage string) ([]byte, error) {
	return c.get(ctx, "/restapis/"+api+"/stages/"+url.PathEscape(stage)+"/exports/oas30", url.Values{"extensions": {"authorizers"}})
}

// get sends a request, again while API Gateway is busy.
func (c *Client) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	for try := 1; ; try++ {
		status, body, err := c.ask(ctx, path, query)
		switch {
		case err == nil && status == http.StatusOK:
			return body, nil
		case err == nil && status == http.StatusNotFound:
			return nil, fmt.Errorf("GET %s: %w", path, ErrGone)
		case err == nil && status != http.StatusTooManyRequests && status < http.StatusInternalServerError:
			return nil, fmt.Errorf("GET %s: %d %.200s", path, status, body)
		case try == tries && err == nil:
			return nil, fmt.Errorf("GET %s: %d %.200s, %d times", path, status, body, tries)
		case try == tries:
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(try) * time.Second):
		}
	}
}

func (c *Client) ask(ctx context.Context, path string, query url.Values) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path+"?"+query.Encode(), nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	who, err := c.AWS.Credentials.Retrieve(ctx)
	if err != nil {
		return 0, nil, err
	}
	empty := sha256.Sum256(nil)
	if err := v4.NewSigner().SignHTTP(ctx, who, req, hex.EncodeToString(empty[:]), "apigateway", c.AWS.Region, time.Now()); err != nil {
		return 0, nil, err
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }() // the body is read
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return res.StatusCode, body, err
}
