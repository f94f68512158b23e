package env

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The SDK's own defaults wait 25 s on a database that hangs; a caller gets its
// 503 within 3 s instead.
const (
	tryTimeout = 700 * time.Millisecond // of one try, when AWS_TRY_TIMEOUT_MS names no other
	tries      = 3
	maxBackoff = 100 * time.Millisecond
)

// AWS builds the configuration that the Lambda runtime gives a function: region
// and credentials from the environment, our HTTP client and retries, with
// AWS_TRY_TIMEOUT_MS for one try. It makes no request.
func (r *Reader) AWS() aws.Config {
	credentials := aws.Credentials{
		AccessKeyID:     r.Required("AWS_ACCESS_KEY_ID"),
		SecretAccessKey: r.Required("AWS_SECRET_ACCESS_KEY"),
		SessionToken:    r.Optional("AWS_SESSION_TOKEN", ""),
		Source:          "environment",
	}
	client := NewHTTPClient()
	client.Timeout = time.Duration(r.Int("AWS_TRY_TIMEOUT_MS", int(tryTimeout.Milliseconds()), 1)) * time.Millisecond
	return Config(r.Required("AWS_REGION"), credentials, client)
}

// Config is the product's aws.Config: tests give it another HTTP client.
func Config(region string, credentials aws.Credentials, client *http.Client) aws.Config {
	return aws.Config{
		Region: region,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return credentials, nil
		}),
		HTTPClient: client,
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxAttempts = tries
				o.MaxBackoff = maxBackoff
			})
		},
	}
}

// DynamoDB gives a client for the table, with its connection open: a function
// initialises with a whole CPU, and handles its first request with a part of
// one. AWS_ENDPOINT_URL_DYNAMODB names another endpoint.
func (r *Reader) DynamoDB(cfg aws.Config) *dynamodb.Client {
	endpoint := r.Optional("AWS_ENDPOINT_URL_DYNAMODB", "")
	if r.Err() == nil {
		connect(cfg.HTTPClient, cmp.Or(endpoint, "https://dynamodb."+cfg.Region+".amazonaws.com"))
	}
	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		if endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
	})
}

// connect opens a connection and leaves it in the client's pool. It does not
// matter when it cannot: the first call will say so.
func connect(client aws.HTTPClient, url string) {
	ctx, cancel := context.WithTimeout(context.Background(), tryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return
	}
	res, err := client.Do(req)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, res.Body) // read to its end, or the connection is not kept
	_ = res.Body.Close()
}
