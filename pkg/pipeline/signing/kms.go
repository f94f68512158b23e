// Package signing creates and uses the webhook signing keys in AWS KMS. Package webhook has the rules of keys and signatures.
// The two are separate so that only the functions that sign or rotate link KMS.
package signing

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"latchkey/pkg/webhook"
)

// createTimeout limits CreateKey. It is longer than one try of the SDK's other calls, because CreateKey has no
// retry.
const createTimeout = 10 * time.Second

// Keys are the signing keys of one stack. A key's name is its ARN.
type Keys struct {
	client *awskms.Client
	stack  string
	tags   []types.Tag // the tags of a new key
}

// New returns the keys of the stack with this name. A new key gets the stack's tag and the
// extra tags, pairs of name and value. An extra tag never replaces webhook.StackTag.
func New(client *awskms.Client, stack string, extra ...[2]string) *Keys {
	k := &Keys{client, stack, []types.Tag{{TagKey: aws.String(webhook.StackTag), TagValue: &stack}}}
	for _, tag := range extra {
		if tag[0] != webhook.StackTag {
			k.tags = append(k.tags, types.Tag{TagKey: &tag[0], TagValue: &tag[1]})
		}
	}
	return k
}

// Client returns a client of KMS.
func Client(cfg aws.Config) *awskms.Client { return awskms.NewFromConfig(cfg) }

// Sign signs a SHA-256 digest with a key. The error is webhook.ErrNoKey when KMS has no such key.
func (k *Keys) Sign(ctx context.Context, arn string, digest [sha256.Size]byte) (webhook.Signature, error) {
	out, err := k.client.Sign(ctx, &awskms.SignInput{
		KeyId: &arn, Message: digest[:], MessageType: types.MessageTypeDigest,
		SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256,
	})
	if err != nil {
		return webhook.Signature{}, fault("Sign", arn, err)
	}
	return webhook.ParseSignature(out.Signature)
}

// Public returns the public half of a key. The error is webhook.ErrNoKey when KMS has no such
// key, and another error when the key is not for ES256.
func (k *Keys) Public(ctx context.Context, arn string) (webhook.JWK, error) {
	out, err := k.client.GetPublicKey(ctx, &awskms.GetPublicKeyInput{KeyId: &arn})
	if err != nil {
		return webhook.JWK{}, fault("GetPublicKey", arn, err)
	}
	if out.KeyUsage != types.KeyUsageTypeSignVerify {
		return webhook.JWK{}, fmt.Errorf("kms: %s is for %s, not for signing", arn, out.KeyUsage)
	}
	return webhook.ParsePublicKey(out.PublicKey)
}

// Create creates a signing key and returns its ARN. It calls KMS once: if an answer were lost, a second call would
// leave a key that no row names and that costs money.
func (k *Keys) Create(ctx context.Context) (arn string, err error) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	out, err := k.client.CreateKey(ctx, &awskms.CreateKeyInput{
		KeySpec: types.KeySpecEccNistP256, KeyUsage: types.KeyUsageTypeSignVerify,
		Description: aws.String(k.stack + ": signs webhooks"),
		Tags:        k.tags,
	}, once)
	if err != nil {
		return "", fmt.Errorf("kms: CreateKey: %w", err)
	}
	return aws.ToString(out.KeyMetadata.Arn), nil
}

// once makes a call without retries, and with createTimeout in place of the client's short time-out.
func once(o *awskms.Options) {
	o.Retryer = aws.NopRetryer{}
	if short, ok := o.HTTPClient.(*http.Client); ok {
		long := *short
		long.Timeout = createTimeout
		o.HTTPClient = &long
	}
}

// Disable makes KMS refuse to sign with a key. It deletes nothing. A second call for the same key returns no error.
// The error is webhook.ErrNoKey when KMS has no such key.
func (k *Keys) Disable(ctx context.Context, arn string) error {
	_, id, _ := strings.Cut(arn, ":key/") // AWS accepts the ARN too, but moto, the KMS of the local stack, does not
	if _, err := k.client.DisableKey(ctx, &awskms.DisableKeyInput{KeyId: &id}); err != nil {
		return fault("DisableKey", arn, err)
	}
	return nil
}

func fault(call, arn string, err error) error {
	var gone *types.NotFoundException
	if errors.As(err, &gone) {
		return fmt.Errorf("%w: %s", webhook.ErrNoKey, arn)
	}
	return fmt.Errorf("kms: %s %s: %w", call, arn, err)
}
