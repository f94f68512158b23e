package e2e_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"testing"
	"time"
)

// platform is AWS or the local stack. It has the steps of the smoke test that differ between the two.
type platform interface {
	// breakAuthorizer makes the authorizer fail until restore is called.
	breakAuthorizer(t *testing.T) (restore func())
	// sign signs a digest, and returns the signature and the key's SubjectPublicKeyInfo.
	sign(t *testing.T, digest []byte) (der, public []byte)
	// refusals checks that the roles refuse what the template does not allow, or logs that it cannot.
	refusals(t *testing.T)
	// doors returns functions that check an API key at the doors of an owner's own API, by the names of the doors.
	doors(t *testing.T) map[string]func(t *testing.T, key string)
	// credentialLimit returns the limit of the stack's own firewall for one credential, 0 without a firewall.
	credentialLimit(t *testing.T) int
	// throttled notes the API's answer while a function may not run.
	throttled(t *testing.T, tg *target)
	// metrics waits until CloudWatch has a metric that a function has logged.
	metrics(t *testing.T)
	// alarms notes the states of the stack's alarms.
	alarms(t *testing.T)
	// concurrency returns the number of functions without a reservation that the account runs at once.
	concurrency(t *testing.T) int
	// callScheduled calls a scheduled function once, and checks that it does not fail.
	callScheduled(t *testing.T, logical string)
	// keptAllows notes whether a cached Allow ends in time, if the stack has AllowForSeconds.
	keptAllows(t *testing.T, tg *target)
}

// TestSmoke checks, after a first deployment, behaviour that only AWS can prove. Run it by `make smoke
// BASE_URL=… TOKEN_CMD=… STACK=…`. If the host of BASE_URL is 127.0.0.1, it runs on the local stack.
func TestSmoke(t *testing.T) {
	if os.Getenv("SMOKE") == "" {
		t.Skip("it runs by `make smoke BASE_URL=… TOKEN_CMD=… STACK=…`, and TestLocal runs it here")
	}
	base, err := url.Parse(os.Getenv("BASE_URL"))
	if err != nil || base.Host == "" {
		t.Fatalf("BASE_URL %q: %v", os.Getenv("BASE_URL"), err)
	}
	tg := newTarget("deployed", base.String(), commandTokens(os.Getenv("TOKEN_CMD")))
	if os.Getenv("WALK") == "1" { // for an issuer that gives a token for any email
		t.Run("TheWalkThroughOfTheREADMEWorks", func(t *testing.T) { readme(t, tg, "") })
	}
	if base.Hostname() == "127.0.0.1" {
		smoke(t, tg, localPlatform{port: cmp.Or(os.Getenv("LAB_PORT"), base.Port())}) // LAB_PORT: the stack's port, if BASE_URL is another server in front of it
		return
	}
	if os.Getenv("STACK") == "" || os.Getenv("AWS_REGION") == "" {
		t.Fatal("STACK, the name of the CloudFormation stack, or AWS_REGION is not set")
	}
	smoke(t, tg, newAWSPlatform(t))
	t.Run("OldTLSIsRefused", func(t *testing.T) {
		port := base.Port()
		if port == "" {
			port = "443"
		}
		if err := refusesOldTLS(t.Context(), net.JoinHostPort(base.Hostname(), port), nil); err != nil {
			t.Error(err)
		}
	})
}

// smoke runs a part of the suite, enough for one transaction through every function, and then
// smokeChecks.
func smoke(t *testing.T, tg *target, p platform) {
	tg.clients = clientsFor(p.concurrency(t))
	t.Run("OneTransactionThroughEveryFunction", func(t *testing.T) {
		for _, c := range []func(t *testing.T, tg *target){
			wrongCredentials, unknownRoutes, anOrg, anInvite, roles, retries, expiryAndRotation, apps, verificationKey, linkClaim, aKey,
			unknownNames, plainText, challenges, publicReads, aDeletedOrg,
		} {
			c(t, tg)
		}
	})
	t.Run("ARevokedKeyIsRefusedAtOnce", func(t *testing.T) { revokedAtOnce(t, tg) })
	smokeChecks(t, tg, p)
}

// clientsFor returns the number of clients that an account can serve at once. A request needs an authorizer and a function, and
// other functions run at the same time.
func clientsFor(concurrency int) int { return max(1, min(16, concurrency/3)) }

// TestSmokeHasNoMoreClientsThanTheAccountServes checks the quotas of new and of older accounts.
func TestSmokeHasNoMoreClientsThanTheAccountServes(t *testing.T) {
	t.Parallel()
	for concurrency, want := range map[int]int{0: 1, 2: 1, 10: 3, 47: 15, 48: 16, 1000: 16} {
		if got := clientsFor(concurrency); got != want {
			t.Errorf("%d: %d clients, want %d", concurrency, got, want)
		}
	}
}

// smokeChecks runs the checks of the smoke test that the suite does not have.
func smokeChecks(t *testing.T, tg *target, p platform) {
	t.Run("AnAuthorizerThatThrowsIsA503", func(t *testing.T) { authorizerThrows(t, tg, p) })
	t.Run("BytesThatAreNotTextAreRefused", func(t *testing.T) { spoiledBytes(t, tg) })
	t.Run("TheAnswerOfAThrottledFunctionIsNoted", func(t *testing.T) { p.throttled(t, tg) })
	t.Run("HeaderLinesOverTheLimitAreRefused", func(t *testing.T) { headerLimit(t, tg) })
	t.Run("ASignatureOfKMSVerifiesWithTheLookup", func(t *testing.T) { signatureVerifies(t, tg, p) })
	t.Run("AnEventGoesAllTheWayToAnAttempt", func(t *testing.T) { webhookAttempt(t, tg) })
	t.Run("TheRolesRefuseOtherActions", p.refusals)
	t.Run("TheSweepRuns", func(t *testing.T) { p.callScheduled(t, "SweepFunction") })
	t.Run("TheSearchForConsumersRuns", func(t *testing.T) { p.callScheduled(t, "CheckConsumersFunction") })
	t.Run("TheEventBusHasEvents", func(t *testing.T) { busHasEvents(t, os.Getenv("BUS_QUEUE")) })
	t.Run("TheConsoleHasItsFiles", func(t *testing.T) { consoleServes(t, tg) })
	t.Run("EachDoorWritesTheLastUse", func(t *testing.T) { lastUsesAreNoted(t, tg, p) })
	t.Run("LogLinesBecomeMetrics", p.metrics)
	t.Run("TheStatesOfTheAlarmsAreNoted", p.alarms)
	t.Run("TheGatewayIsRecorded", func(t *testing.T) { record(t, os.Getenv("ECHO_URL")) })
	t.Run("ACachedAllowEnds", func(t *testing.T) { p.keptAllows(t, tg) })
	t.Run("TheFirewallCountsByCredential", func(t *testing.T) { firewall(t, tg, p) })
}

// authorizerThrows makes the authorizer fail: the API must answer 503, and work again afterwards.
func authorizerThrows(t *testing.T, tg *target, p platform) {
	ada := tg.person(t, "ada")
	ada.want(t, "GET", "/v1/orgs", "", 200, "")
	restore := p.breakAuthorizer(t)
	ada.want(t, "GET", "/v1/orgs", "", 503, "unavailable")
	restore()
	for begun := time.Now(); ada.do(t, "GET", "/v1/orgs", "").status != 200; time.Sleep(time.Second) {
		if time.Since(begun) > time.Minute {
			t.Fatal("no 200 within a minute after the authorizer was restored")
		}
	}
}

// signatureVerifies signs a digest in KMS, and verifies the signature with the key that the API's lookup returns.
func signatureVerifies(t *testing.T, tg *target, p platform) {
	digest := sha256.Sum256([]byte("smoke " + tg.run))
	der, public := p.sign(t, digest[:])
	parsed, err := x509.ParsePKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok {
		t.Fatalf("the key is a %T", parsed)
	}
	point, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding
	// The kid is the key's thumbprint (RFC 7638). point is the byte 4, then x and y of 32 bytes each.
	kid := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + b64.EncodeToString(point[1:33]) + `","y":"` + b64.EncodeToString(point[33:]) + `"}`))
	found := tg.want(t, call{
		method: "POST", path: "/webhook_verification_key/get", body: `{"kid":"` + b64.EncodeToString(kid[:]) + `"}`,
	}, 200, "")
	x, errX := b64.DecodeString(found.str("x"))
	y, errY := b64.DecodeString(found.str("y"))
	if errX != nil || errY != nil {
		t.Fatalf("the lookup's key: %s", found.text)
	}
	verify, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
	if err != nil {
		t.Fatal(err)
	}
	var n struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &n); err != nil {
		t.Fatal(err)
	}
	if !ecdsa.Verify(verify, digest[:], n.R, n.S) {
		t.Error("the signature does not verify with the key of the lookup")
	}
}

// webhookAttempt sends a webhook to the API's own lookup of public keys, which answers 415. The 415 shows that stream,
// fan-out, queue, signature and sending work together. No other server gets the webhook.
func webhookAttempt(t *testing.T, tg *target) {
	ada := tg.person(t, "ada")
	_, key := ada.key(t, ada.org(t), `{}`)
	send := func(path, body string, status int) reply {
		return tg.want(t, call{method: "POST", path: path, body: body, bearer: key}, status, "")
	}
	endpoint := send("/webhook_endpoint/create", `{"url":"`+tg.url+`/webhook_verification_key/get"}`, 201).str("id")
	event := send("/webhook_endpoint/test", `{"endpointId":"`+endpoint+`"}`, 200).str("eventId")
	defer send("/webhook_endpoint/delete", `{"endpointId":"`+endpoint+`"}`, 200)
	for begun := time.Now(); ; time.Sleep(time.Second) {
		for _, d := range send("/webhook_delivery/list", `{"eventId":"`+event+`"}`, 200).list("deliveries") {
			last, tried := d["lastAttempt"].(map[string]any)
			if tried && fmt.Sprint(last["status"]) != "415" {
				t.Fatalf("the attempt: %v", last)
			}
			if tried {
				return
			}
		}
		if time.Since(begun) > 3*time.Minute {
			t.Fatal("no attempt within three minutes")
		}
	}
}
