package boot

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

// With the SDK's defaults, a call waits 25 s for a database that hangs. With these values, the caller gets a 503 within 3 s.
const (
	tryTimeout = 700 * time.Millisecond // the longest time of one try, unless AWS_TRY_TIMEOUT_MS sets another
	tries      = 3
	maxBackoff = 100 * time.Millisecond // the longest pause before the next try
)

// AWS returns the configuration for calls to AWS. Region and credentials come from the environment, where the Lambda runtime
// sets them. The HTTP client and the retries are ours. AWS_TRY_TIMEOUT_MS bounds one try. AWS_ENDPOINT_URL replaces the
// endpoints of all services. AWS makes no request.
func (r *Reader) AWS() aws.Config {
	credentials := aws.Credentials{
		AccessKeyID:     r.Required("AWS_ACCESS_KEY_ID"),
		SecretAccessKey: r.Required("AWS_SECRET_ACCESS_KEY"),
		SessionToken:    r.Optional("AWS_SESSION_TOKEN", ""),
		Source:          "environment",
	}
	try := time.Duration(r.Int("AWS_TRY_TIMEOUT_MS", int(tryTimeout.Milliseconds()), 1)) * time.Millisecond
	cfg := Config(r.Required("AWS_REGION"), credentials, newHTTPClient(try))
	if endpoint := r.Optional("AWS_ENDPOINT_URL", ""); endpoint != "" {
		cfg.BaseEndpoint = &endpoint
	}
	return cfg
}

// Config returns the product's aws.Config. Tests use it with another HTTP client.
func Config(region string, credentials aws.Credentials, client *http.Client) aws.Config {
	return aws.Config{
		Region: region,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return credentials, nil
		}),
		HTTPClient: client,
		Retryer:    Retryer,
	}
}

// Retryer returns the retries of a call to AWS: at most three tries, with short pauses.
func Retryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = tries
		o.MaxBackoff = maxBackoff
	})
}

// DynamoDB returns a client for the table. Its connection is already open, because a function has a whole CPU while it starts,
// but only a part of a CPU at its first request.
func (r *Reader) DynamoDB(cfg aws.Config) *dynamodb.Client {
	environmentIsComplete := r.Err() == nil
	if environmentIsComplete {
		connect(cfg.HTTPClient, cmp.Or(aws.ToString(cfg.BaseEndpoint), "https://dynamodb."+cfg.Region+".amazonaws.com"))
	}
	return dynamodb.NewFromConfig(cfg)
}

// connect opens a connection and leaves it in the client's pool. It ignores a failure, because the first call will then fail
// too and report the error. The client bounds the time.
func connect(client aws.HTTPClient, url string) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return
	}
	res, err := client.Do(req)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, res.Body) // only a body that is read to its end returns its connection to the pool
	_ = res.Body.Close()
}
