package signing_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"latchkey/pkg/pipeline/signing"
	"latchkey/pkg/servicetest"
	"latchkey/pkg/webhook"
)

func TestASignatureOfKMSVerifiesByTheJWK(t *testing.T) {
	ctx, k := context.Background(), signing.New(servicetest.KMS(t), "test")
	arn, err := k.Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	jwk, err := k.Public(ctx, arn)
	if err != nil || !webhook.IsKid(jwk.Kid) {
		t.Fatalf("%+v, %v", jwk, err)
	}
	for i := range 250 { // one in 128 signatures has a number with a leading zero, which must be padded
		digest := sha256.Sum256(fmt.Append(nil, i))
		sig, err := k.Sign(ctx, arn, digest)
		if err != nil || !jwk.Verify(digest, sig) {
			t.Fatalf("round %d: %v, the signature does not verify", i, err)
		}
		if i == 0 && jwk.Verify(sha256.Sum256([]byte("another")), sig) {
			t.Fatal("the signature verifies for another message")
		}
	}
}

func TestANewKeyHasTheTypeAndTagOfTheStack(t *testing.T) {
	ctx, client := context.Background(), servicetest.KMS(t)
	arn, err := signing.New(client, "acme").Create(ctx)
	if err != nil || !strings.HasPrefix(arn, "arn:aws:kms:") {
		t.Fatalf("%q, %v", arn, err)
	}
	out, err := client.DescribeKey(ctx, &awskms.DescribeKeyInput{KeyId: &arn})
	if err != nil {
		t.Fatal(err)
	}
	if m := out.KeyMetadata; m.KeySpec != types.KeySpecEccNistP256 || m.KeyUsage != types.KeyUsageTypeSignVerify {
		t.Errorf("%s for %s", m.KeySpec, m.KeyUsage)
	}
	tags, err := client.ListResourceTags(ctx, &awskms.ListResourceTagsInput{KeyId: &arn})
	if err != nil || len(tags.Tags) != 1 || aws.ToString(tags.Tags[0].TagKey) != webhook.StackTag || aws.ToString(tags.Tags[0].TagValue) != "acme" {
		t.Errorf("tags %+v, %v", tags, err)
	}
}

// TestANewKeyHasTheExtraTags: the key also has the stack's tag, and no extra tag replaces it.
func TestANewKeyHasTheExtraTags(t *testing.T) {
	ctx, client := context.Background(), servicetest.KMS(t)
	arn, err := signing.New(client, "acme", [2]string{"team", "payments"}, [2]string{webhook.StackTag, "other"}, [2]string{"env", "prod"}).Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.ListResourceTags(ctx, &awskms.ListResourceTagsInput{KeyId: &arn})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, tag := range out.Tags {
		got[aws.ToString(tag.TagKey)] = aws.ToString(tag.TagValue)
	}
	if want := map[string]string{webhook.StackTag: "acme", "team": "payments", "env": "prod"}; !maps.Equal(got, want) || len(out.Tags) != len(want) {
		t.Errorf("tags %v", got)
	}
}

func TestAMissingKeyIsDistinguishedFromAFaultOfKMS(t *testing.T) {
	ctx, client := context.Background(), servicetest.KMS(t)
	k := signing.New(client, "test")
	const gone = "arn:aws:kms:us-east-1:000000000000:key/00000000-0000-0000-0000-000000000000"
	_, public := k.Public(ctx, gone)
	_, sign := k.Sign(ctx, gone, [32]byte{})
	for name, err := range map[string]error{"Public": public, "Sign": sign, "Disable": k.Disable(ctx, gone)} {
		if !errors.Is(err, webhook.ErrNoKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	encrypts, err := client.CreateKey(ctx, &awskms.CreateKeyInput{KeySpec: types.KeySpecRsa2048, KeyUsage: types.KeyUsageTypeEncryptDecrypt})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Public(ctx, aws.ToString(encrypts.KeyMetadata.Arn)); err == nil || errors.Is(err, webhook.ErrNoKey) {
		t.Errorf("a key that does not sign: %v", err)
	}
	down := signing.New(servicetest.KMSClient("http://127.0.0.1:1"), "test") // nothing listens on port 1
	if _, err := down.Public(ctx, gone); err == nil || errors.Is(err, webhook.ErrNoKey) {
		t.Errorf("a KMS that is down: %v", err)
	}
}

// TestDisableDisablesTheKey reads the key's state from KMS, because the local KMS still signs
// with a disabled key. It disables the key twice: the second call returns no error.
func TestDisableDisablesTheKey(t *testing.T) {
	ctx, client := context.Background(), servicetest.KMS(t)
	k := signing.New(client, "test")
	arn, err := k.Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []types.KeyState{types.KeyStateEnabled, types.KeyStateDisabled} {
		out, err := client.DescribeKey(ctx, &awskms.DescribeKeyInput{KeyId: &arn})
		if err != nil || out.KeyMetadata.KeyState != before {
			t.Fatalf("%+v, %v, want %s", out, err, before)
		}
		if err := k.Disable(ctx, arn); err != nil {
			t.Fatal(err)
		}
	}
}

// lost is a transport that counts calls and loses every answer.
type lost struct{ calls int }

func (l *lost) RoundTrip(*http.Request) (*http.Response, error) {
	l.calls++
	return nil, errors.New("the answer is lost")
}

func TestALostAnswerDoesNotRepeatCreate(t *testing.T) {
	l := &lost{}
	k := signing.New(awskms.New(awskms.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), HTTPClient: &http.Client{Transport: l},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		}),
	}), "test")
	if _, err := k.Create(context.Background()); err == nil || l.calls != 1 {
		t.Errorf("%d calls, %v", l.calls, err)
	}
	// The first call was Create, so three or more calls mean that Public was tried again.
	if _, err := k.Public(context.Background(), "arn"); err == nil || l.calls < 3 {
		t.Errorf("%d calls, %v: want Public to be tried again", l.calls, err)
	}
}

// silent is a KMS that never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestOnlyCreateHasTenSeconds: the other calls keep the time-out of the client, before and after a call of Create.
func TestOnlyCreateHasTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := signing.New(awskms.New(awskms.Options{
			Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), Retryer: aws.NopRetryer{},
			HTTPClient: &http.Client{Transport: silent{}, Timeout: 700 * time.Millisecond}, Credentials: aws.AnonymousCredentials{},
		}), "test")
		calls := []func() error{
			func() error { _, err := k.Public(t.Context(), "arn"); return err },
			func() error { _, err := k.Create(t.Context()); return err },
			func() error { return k.Disable(t.Context(), "arn") },
		}
		for i, want := range []time.Duration{700 * time.Millisecond, 10 * time.Second, 700 * time.Millisecond} {
			begun := time.Now()
			if err := calls[i](); err == nil || time.Since(begun) != want {
				t.Errorf("call %d ended after %s: %v", i, time.Since(begun), err)
			}
		}
	})
}
