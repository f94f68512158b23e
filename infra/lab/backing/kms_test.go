package backing_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"latchkey/infra/lab/backing"
)

func TestKMSSignsADigestOnce(t *testing.T) {
	ctx := context.Background()
	p, err := backing.StartKMS(ctx, backing.Options{LogPath: filepath.Join(t.TempDir(), "kms.log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	assertOnlyLoopback(t, p.Port)
	c := backing.NewKMSClient(p.Endpoint)
	made, err := c.CreateKey(ctx, &kms.CreateKeyInput{KeySpec: types.KeySpecEccNistP256, KeyUsage: types.KeyUsageTypeSignVerify})
	if err != nil {
		t.Fatal(err)
	}
	pub, err := c.GetPublicKey(ctx, &kms.GetPublicKeyInput{KeyId: made.KeyMetadata.KeyId})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParsePKIXPublicKey(pub.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	message := sha256.Sum256([]byte("message"))
	for range 20 {
		sign := &kms.SignInput{KeyId: made.KeyMetadata.KeyId, Message: message[:], MessageType: types.MessageTypeDigest, SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256}
		out, err := c.Sign(ctx, sign)
		if err != nil {
			t.Fatal(err)
		}
		if !ecdsa.VerifyASN1(parsed.(*ecdsa.PublicKey), message[:], out.Signature) {
			t.Fatal("the signature is not one of the digest")
		}
	}
	short := &kms.SignInput{KeyId: made.KeyMetadata.KeyId, Message: message[:31], MessageType: types.MessageTypeDigest, SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256}
	if _, err := c.Sign(ctx, short); err == nil {
		t.Error("a digest of 31 bytes was signed")
	}
	if _, err := c.DisableKey(ctx, &kms.DisableKeyInput{KeyId: made.KeyMetadata.KeyId}); err != nil {
		t.Fatal(err)
	}
	whole := &kms.SignInput{KeyId: made.KeyMetadata.Arn, Message: message[:], MessageType: types.MessageTypeDigest, SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256}
	var disabled *types.DisabledException
	if _, err := c.Sign(ctx, whole); !errors.As(err, &disabled) {
		t.Errorf("a disabled key signs: %v", err)
	}
}
