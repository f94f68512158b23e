package api_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/link"
	"latchkey/pkg/problem"
	"latchkey/pkg/secret"
	"latchkey/pkg/webhook"
)

// The claim keys of two devices.
const (
	firstDevice  = "0123456789abcdefghijkl"
	secondDevice = "lkjihgfedcba9876543210"
)

// claim claims a link as a device does: without a credential.
func (d *appServer) claim(t *testing.T, token, claimKey string, status int, code problem.Code) reply {
	t.Helper()
	body := fmt.Sprintf(`{"token":%q,"claimKey":%q}`, token, claimKey)
	return d.want(t, request{method: "POST", path: "/link/claim", body: body}, status, code)
}

// eventTypes returns the types of the app's events, oldest first, without key events.
func (d *appServer) eventTypes(t *testing.T) []string {
	t.Helper()
	d.pass(time.Minute) // the feed shows an event once it is 10 s old
	return slices.DeleteFunc(d.post(t, "/webhook_event/list", `{"limit":100}`, 200, "").each("events", "type"),
		func(kind string) bool { return strings.HasPrefix(kind, "key.") })
}

func TestALinkIsClaimedOnce(t *testing.T) {
	d := newAppServer(t)
	made, token := d.newLink(t)
	d.pass(time.Second)
	at := d.at.UnixMilli()
	body := fmt.Sprintf(`{"token":%q,"claimKey":%q,"device":{"name":"Ada's phone"}}`, token, firstDevice)
	claimed := d.want(t, request{method: "POST", path: "/link/claim", body: body}, 200, "")
	answer := `{"linkId":%q,"status":"claimed","claimedAt":%d,"app":{"name":"Default"},"replayed":%t}`
	if want := fmt.Sprintf(answer, made, at, false); strings.TrimSpace(claimed.text) != want {
		t.Errorf("%s, want %s", claimed.text, want)
	}
	d.pass(time.Minute) // past the link's expiry: a claimed link stays claimed
	again := d.claim(t, token, firstDevice, 200, "")
	if want := fmt.Sprintf(answer, made, at, true); strings.TrimSpace(again.text) != want {
		t.Errorf("%s, want %s", again.text, want)
	}
	d.claim(t, token, secondDevice, 409, problem.LinkAlreadyClaimed)
	got := d.post(t, "/link/get", bodyWith("linkId", made), 200, "")
	if !strings.Contains(got.text, `"device":{"name":"Ada's phone","platform":null}`) || got.num("claimedAt") != at {
		t.Errorf("%s", got.text)
	}
	d.pass(24*time.Hour - time.Minute - time.Millisecond) // the device may repeat its claim for a day
	d.claim(t, token, firstDevice, 200, "")
	d.pass(time.Millisecond)
	d.claim(t, token, firstDevice, 409, problem.LinkAlreadyClaimed)
	same(t, "events", d.eventTypes(t), []string{"link.claimed"})
}

func TestALinkExpiresToTheMillisecond(t *testing.T) {
	d := newAppServer(t)
	early, earlyToken := d.newLink(t)
	_, lateToken := d.newLink(t)
	d.pass(time.Minute - time.Millisecond) // both links expire a minute after they were made
	d.claim(t, earlyToken, firstDevice, 200, "")
	d.pass(time.Millisecond)
	d.claim(t, lateToken, firstDevice, 410, problem.LinkExpired)
	if got := d.post(t, "/link/get", bodyWith("linkId", early), 200, "").str("status"); got != "claimed" {
		t.Errorf("status %s", got)
	}
	revoked, token := d.newLink(t)
	d.post(t, "/link/revoke", bodyWith("linkId", revoked), 200, "")
	d.claim(t, token, firstDevice, 410, problem.LinkRevoked)
	d.pass(time.Minute)
	d.claim(t, token, firstDevice, 410, problem.LinkRevoked)
}

// TestAWrongSecretRevealsNothingOfALink: a caller who knows a link's id, but not its token, gets
// the answer of an unknown link, in every state of the link.
func TestAWrongSecretRevealsNothingOfALink(t *testing.T) {
	d := newAppServer(t)
	tokens := map[string]string{} // by the link's state
	for _, state := range []string{"expired", "pending", "claimed", "revoked"} {
		made, token := d.newLink(t)
		switch state {
		case "expired":
			d.pass(time.Minute)
		case "claimed":
			d.claim(t, token, firstDevice, 200, "")
		case "revoked":
			d.post(t, "/link/revoke", bodyWith("linkId", made), 200, "")
		}
		tokens[state] = token
	}
	unknown := d.claim(t, "lkt_x", firstDevice, 404, problem.LinkNotFound)
	for state, token := range tokens {
		p, err := link.ParseToken(token)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.post(t, "/link/get", bodyWith("linkId", string(p.Link)), 200, "").str("status"); got != state {
			t.Fatalf("%s, want %s", got, state)
		}
		other, err := link.Mint(p.App, p.Link, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := d.claim(t, other.Text.Reveal(), firstDevice, 404, problem.LinkNotFound)
		if r.text != unknown.text || fmt.Sprint(r.header) != fmt.Sprint(unknown.header) {
			t.Errorf("%s: %s %v", state, r.text, r.header)
		}
		wrongPrefix := "lk" + strings.TrimPrefix(token, "lkt")
		if r := d.claim(t, wrongPrefix, firstDevice, 404, problem.LinkNotFound); r.text != unknown.text {
			t.Errorf("%s: %s", state, r.text)
		}
	}
}

// writeValue writes the texts and the bytes in a value of a row.
func writeValue(t *testing.T, to *strings.Builder, value types.AttributeValue) {
	t.Helper()
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		fmt.Fprintln(to, v.Value)
	case *types.AttributeValueMemberB:
		fmt.Fprintln(to, string(v.Value), hex.EncodeToString(v.Value))
	case *types.AttributeValueMemberM:
		for _, member := range v.Value {
			writeValue(t, to, member)
		}
	case *types.AttributeValueMemberN, *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
	default:
		t.Errorf("a value of another kind: %T", v)
	}
}

func TestNoRowHasATokenOrAClaimKey(t *testing.T) {
	d := newAppServer(t)
	r := d.want(t, request{
		as: d.key, method: "POST", path: "/link/create", body: `{"clientUserId":"u"}`,
		header: map[string]string{"Idempotency-Key": "01234567-89ab-cdef-0123-456789abcdef"},
	}, 201, "")
	token := r.str("token")
	d.claim(t, token, firstDevice, 200, "")
	proof := strings.Split(token, "_")[2] // the secret of the token, 43 characters, and its checksum
	if _, err := secret.Parse(token); err != nil || len(proof) != 49 {
		t.Fatalf("%v, %d", err, len(proof))
	}
	var all strings.Builder
	for _, row := range d.Rows(t) {
		writeValue(t, &all, &types.AttributeValueMemberM{Value: row})
	}
	if !strings.Contains(all.String(), r.str("id")) {
		t.Fatal("no row has the id of the link")
	}
	for _, text := range []string{token, proof, proof[:43], firstDevice} {
		for _, as := range []string{
			text, base64.StdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text)), hex.EncodeToString([]byte(text)),
		} {
			if strings.Contains(all.String(), as) {
				t.Errorf("a row has %.12s…", as)
			}
		}
	}
}

// race sends one claim for each of the claim keys, all at the same time. It counts the answers by status, and the replays.
func (d *appServer) race(t *testing.T, token string, claimKeys []string) (byStatus map[int]int, replayed int) {
	t.Helper()
	byStatus = map[int]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, key := range claimKeys {
		wg.Go(func() {
			body := fmt.Sprintf(`{"token":%q,"claimKey":%q}`, token, key)
			r := d.do(t, request{method: "POST", path: "/link/claim", body: body})
			mu.Lock()
			defer mu.Unlock()
			byStatus[r.status]++
			if r.body["replayed"] == true {
				replayed++
			}
		})
	}
	wg.Wait()
	return byStatus, replayed
}

// racers is the number of claims in a race.
const racers = 40

func TestOnlyOneOfManyRacingDevicesClaims(t *testing.T) {
	d := newAppServer(t)
	_, token := d.newLink(t)
	var keys []string
	for i := range racers {
		keys = append(keys, fmt.Sprintf("%022d", i))
	}
	got, replayed := d.race(t, token, keys)
	if got[http.StatusOK] != 1 || got[http.StatusConflict] != racers-1 || replayed != 0 {
		t.Errorf("%v, %d replayed", got, replayed)
	}
	same(t, "events", d.eventTypes(t), []string{string(webhook.LinkClaimed)})
}

func TestSimultaneousClaimsOfOneDeviceCountOnce(t *testing.T) {
	d := newAppServer(t)
	_, token := d.newLink(t)
	got, replayed := d.race(t, token, slices.Repeat([]string{firstDevice}, racers))
	if got[http.StatusOK] != racers || replayed != racers-1 {
		t.Errorf("%v, %d replayed", got, replayed)
	}
	same(t, "events", d.eventTypes(t), []string{string(webhook.LinkClaimed)})
}
