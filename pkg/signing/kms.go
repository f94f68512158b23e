package signing

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
)

// StackTag is the tag of every signing key, the one that the template makes
// among them; its value is the name of the stack. The roles' policies ask for
// it, so that two stacks of one account cannot touch each other's keys.
const StackTag = "latchkey:stack"

// ErrNoKey says that KMS knows no such key. Every other error of a KMS method is
// a fault that may pass: the key's tag, for one, may take 5 minutes to count, and
// until then KMS refuses us.
var ErrNoKey = errors.New("signing: KMS knows no such key")

// createTimeout bounds CreateKey, which has no retry and therefore more time than
// one try of the SDK's other calls.
const createTimeout = 10 * time.Second

// KMS holds the private keys of one stack. A key is named by its ARN.
type KMS struct {
	client *kms.Client
	stack  string
}

// NewKMS gives the keys of a stack, by its name.
func NewKMS(client *kms.Client, stack string) *KMS { return &KMS{client, stack} }

// Sign signs a SHA-256 digest with a key. Error: ErrNoKey.
func (k *KMS) Sign(ctx context.Context, arn string, digest [sha256.Size]byte) (Signature, error) {
	out, err := k.client.Sign(ctx, &kms.SignInput{
		KeyId: &arn, Message: digest[:], MessageType: types.MessageTypeDigest,
		SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256,
	})
	if err != nil {
		return Signature{}, fault("Sign", arn, err)
	}
	return rawSignature(out.Signature)
}

// Public gives the public half of a key. Errors: ErrNoKey; a key that is not one
// for ES256 is an error too.
func (k *KMS) Public(ctx context.Context, arn string) (JWK, error) {
	out, err := k.client.GetPublicKey(ctx, &kms.GetPublicKeyInput{KeyId: &arn})
	if err != nil {
		return JWK{}, fault("GetPublicKey", arn, err)
	}
	if out.KeyUsage != types.KeyUsageTypeSignVerify {
		return JWK{}, fmt.Errorf("signing: %s is for %s, not for signing", arn, out.KeyUsage)
	}
	return publicJWK(out.PublicKey)
}

// publicJWK makes the JWK of a SubjectPublicKeyInfo in DER.
func publicJWK(der []byte) (JWK, error) {
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return JWK{}, fmt.Errorf("signing: the public key cannot be read: %w", err)
	}
	public, ok := parsed.(*ecdsa.PublicKey)
	if !ok || public.Curve != elliptic.P256() {
		return JWK{}, errors.New("signing: the public key is not on P-256")
	}
	point, err := public.Bytes()
	if err != nil {
		return JWK{}, fmt.Errorf("signing: the public key cannot be read: %w", err)
	}
	return newJWK(point)
}

// Create makes a signing key and gives its ARN. It asks once: a second try after
// a lost answer would leave a key that nobody knows and somebody pays for.
func (k *KMS) Create(ctx context.Context) (arn string, err error) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	out, err := k.client.CreateKey(ctx, &kms.CreateKeyInput{
		KeySpec: types.KeySpecEccNistP256, KeyUsage: types.KeyUsageTypeSignVerify,
		Description: aws.String(k.stack + ": signs webhooks"),
		Tags:        []types.Tag{{TagKey: aws.String(StackTag), TagValue: aws.String(k.stack)}},
	}, once)
	if err != nil {
		return "", fmt.Errorf("signing: CreateKey: %w", err)
	}
	return aws.ToString(out.KeyMetadata.Arn), nil
}

// once takes the retries, and the short time-out of one try, from a call.
func once(o *kms.Options) {
	o.Retryer = aws.NopRetryer{}
	if short, ok := o.HTTPClient.(*http.Client); ok {
		long := *short
		long.Timeout = createTimeout
		o.HTTPClient = &long
	}
}

// Disable makes KMS refuse to sign with a key; nothing is deleted. A key disabled
// already is fine. Error: ErrNoKey.
func (k *KMS) Disable(ctx context.Context, arn string) error {
	_, id, _ := strings.Cut(arn, ":key/") // the local KMS knows a key by its id alone here
	if _, err := k.client.DisableKey(ctx, &kms.DisableKeyInput{KeyId: &id}); err != nil {
		return fault("DisableKey", arn, err)
	}
	return nil
}

func fault(call, arn string, err error) error {
	var gone *types.NotFoundException
	if errors.As(err, &gone) {
		return fmt.Errorf("%w: %s", ErrNoKey, arn)
	}
	return fmt.Errorf("signing: %s %s: %w", call, arn, err)
}
