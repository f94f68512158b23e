package verify

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	lookupTimeout = 5 * time.Second
	mostOfAnswer  = 64 << 10 // bytes of a lookup's answer
	mostKept      = 256      // keys in memory

	// How long an answer is kept: as its Cache-Control says, but no longer than
	// longestKept; unknownKept when the kid is not known or nothing is said.
	longestKept = 24 * time.Hour
	unknownKept = time.Minute

	// Whoever makes kids up may cause mostAtOnce lookups at a time and, in the long
	// run, one a second; a kid that was once good is not counted.
	mostAtOnce = 4
	mostStored = 10 // lookups of new kids in a row
)

// key is what the issuer says of a kid.
type key struct {
	public    *ecdsa.PublicKey
	expiredAt int64 // milliseconds since the epoch; 0: the key is not retired
}

// answer is what a lookup gave. Whoever finds one that is not there yet waits
// for done.
type answer struct {
	done  chan struct{} // closed when the rest is written
	key   key
	err   error // of the kid: UnknownKey or RevokedKey; of the lookup: ErrUnavailable
	until time.Time
}

func (a *answer) pending() bool {
	select {
	case <-a.done:
		return false
	default:
		return true
	}
}

// keys looks keys up and keeps them.
type keys struct {
	url    string
	client *http.Client
	now    func() time.Time

	mu       sync.Mutex
	byKid    map[string]*answer
	atOnce   int       // lookups of new kids that run
	allowed  float64   // lookups of new kids that may begin
	allowedT time.Time // when allowed was counted
}

func newKeys(url string, client *http.Client, now func() time.Time) *keys {
	if client == nil {
		client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("a lookup does not redirect")
		}}
	}
	return &keys{url: url, client: client, now: now, byKid: map[string]*answer{}, allowed: mostStored, allowedT: now()}
}

// get gives the key of a kid. Calls for the same kid share one lookup.
func (k *keys) get(ctx context.Context, kid string) (key, error) {
	a, mine, isNew := k.find(kid)
	switch {
	case a == nil:
		return key{}, fmt.Errorf("%w: too many new kids", ErrUnavailable)
	case mine:
		k.ask(ctx, kid, a, isNew)
	default:
		select {
		case <-a.done:
		case <-ctx.Done():
			return key{}, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
		}
	}
	return a.key, a.err
}

// find gives the answer about a kid; mine says that the caller has to ask for
// it. nil: it may not be asked for now.
func (k *keys) find(kid string) (a *answer, mine, isNew bool) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.byKid[kid]
	if old != nil && (old.pending() || now.Before(old.until)) {
		return old, false, false
	}
	isNew = old == nil || old.key.public == nil
	if isNew && !k.mayAsk(now) {
		return nil, false, false
	}
	if len(k.byKid) >= mostKept {
		k.forget(now)
	}
	a = &answer{done: make(chan struct{})}
	if !isNew {
		a.key = old.key // so that it stays known should the lookup fail
	}
	k.byKid[kid] = a
	return a, true, isNew
}

// mayAsk takes one of the lookups that new kids may cause.
func (k *keys) mayAsk(now time.Time) bool {
	k.allowed = min(mostStored, k.allowed+max(0, now.Sub(k.allowedT).Seconds()))
	k.allowedT = now
	if k.atOnce >= mostAtOnce || k.allowed < 1 {
		return false
	}
	k.atOnce++
	k.allowed--
	return true
}

// forget makes room: what is out of date goes, else everything that nobody waits
// for.
func (k *keys) forget(now time.Time) {
	for _, all := range []bool{false, true} {
		for kid, a := range k.byKid {
			if !a.pending() && (all || !now.Before(a.until)) {
				delete(k.byKid, kid)
			}
		}
		if len(k.byKid) < mostKept {
			return
		}
	}
}

// ask looks a kid up and fills its answer in. Others wait for it, so it does not
// end with the call that began it.
func (k *keys) ask(ctx context.Context, kid string, a *answer, isNew bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	found, keep, err := k.lookUp(ctx, kid)

	k.mu.Lock()
	defer k.mu.Unlock()
	if isNew {
		k.atOnce--
	}
	a.err, a.until = err, k.now()
	switch {
	case !errors.Is(err, ErrUnavailable):
		a.key, a.until = found, a.until.Add(keep)
	case isNew:
		delete(k.byKid, kid) // nothing was learnt
	}
	close(a.done)
}

// lookUp asks the issuer (infra/docs/contract.md, "Webhook verification key lookup").
func (k *keys) lookUp(ctx context.Context, kid string) (found key, keep time.Duration, err error) {
	body, err := json.Marshal(map[string]string{"kid": kid})
	if err != nil {
		return key{}, 0, unavailable(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url, bytes.NewReader(body))
	if err != nil {
		return key{}, 0, unavailable(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := k.client.Do(req)
	if err != nil {
		return key{}, 0, unavailable(err)
	}
	defer func() { _ = res.Body.Close() }() // it is read to the end or not at all
	said, err := io.ReadAll(io.LimitReader(res.Body, mostOfAnswer))
	if err != nil {
		return key{}, 0, unavailable(err)
	}
	found, err = keyOf(kid, res.StatusCode, said)
	return found, keepFor(res.Header.Get("Cache-Control")), err
}

func unavailable(cause error) error { return fmt.Errorf("%w: %w", ErrUnavailable, cause) }

// keyOf reads a lookup's answer. A 404 that does not speak of the kid comes from
// something else than the API, and tells nothing.
func keyOf(kid string, status int, body []byte) (key, error) {
	var said struct {
		Kid, Kty, Crv, X, Y string
		Alg, Use            *string
		Code                string
		ExpiredAt           int64
	}
	if status == http.StatusGone {
		return key{}, refused(RevokedKey)
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return key{}, unavailable(fmt.Errorf("the lookup answered %d and no JSON", status))
	}
	switch {
	case status == http.StatusNotFound && said.Code == "unknown_kid", status == http.StatusBadRequest && said.Code == "invalid_kid":
		return key{}, refused(UnknownKey)
	case status != http.StatusOK:
		return key{}, unavailable(fmt.Errorf("the lookup answered %d", status))
	}
	x, okX := decode64(said.X)
	y, okY := decode64(said.Y)
	switch {
	case said.Kid != kid, said.Kty != "EC", said.Crv != "P-256", said.Alg != nil && *said.Alg != "ES256",
		said.Use != nil && *said.Use != "sig", !okX, !okY, len(x) != coordinate, len(y) != coordinate:
		return key{}, unavailable(errors.New("the lookup answered another key, or none for ES256"))
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
	if err != nil {
		return key{}, unavailable(err)
	}
	return key{public: public, expiredAt: said.ExpiredAt}, nil
}

var maxAgeIn = regexp.MustCompile(`(?i)(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])`)

func keepFor(cacheControl string) time.Duration {
	m := maxAgeIn.FindStringSubmatch(cacheControl)
	if m == nil {
		return unknownKept
	}
	seconds, err := strconv.Atoi(m[1])
	if err != nil {
		return unknownKept
	}
	return min(time.Duration(seconds)*time.Second, longestKept)
}
