package verify

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"latchkey/pkg/callback"
	"latchkey/pkg/cause"
	"latchkey/pkg/fetch"
	"latchkey/pkg/p256"
)

const (
	lookupTimeout = 5 * time.Second
	maxAnswer     = 64 << 10 // bytes of a lookup's answer
	maxKept       = 256      // keys in memory

	// An answer is kept for its max-age, but at most for longestKept. Without a max-age, it is kept for noMaxAgeKept. This is
	// also true for the answers that a kid is unknown or revoked.
	longestKept  = 24 * time.Hour
	noMaxAgeKept = time.Minute

	// Made-up kids can cause at most maxAtOnce lookups at a time and, on average, one a second.
	// A kid that once had a good key does not count.
	maxAtOnce = 4
	maxBurst  = 10 // allowed at once after a quiet time; then one a second

	// maxRunning limits the lookups that run, including those whose client continues after lookupTimeout.
	maxRunning = 16
)

// key is the issuer's answer about a kid.
type key struct {
	public    *ecdsa.PublicKey
	expiredAt int64 // milliseconds since the epoch; 0: the key is not retired
}

// answer is the result of a lookup. Other callers wait for done while the lookup runs.
type answer struct {
	done  chan struct{} // closed when the other fields are written
	key   key
	err   error     // about the kid: UnknownKey or RevokedKey; about the lookup: ErrUnavailable
	until time.Time // how long the answer is kept
}

// pending reports whether the lookup is still running.
func (a *answer) pending() bool {
	select {
	case <-a.done:
		return false
	default:
		return true
	}
}

// keys looks up verification keys and keeps them in memory.
type keys struct {
	url    string
	client *http.Client
	now    func() time.Time
	calls  *callback.Calls // runs the client, which may be the receiver's own and may hang

	mu       sync.Mutex
	byKid    map[string]*answer
	atOnce   int       // lookups of new kids that are running
	allowed  float64   // lookups of new kids that may begin, at the time allowedT
	allowedT time.Time // when allowed was last updated
}

func newKeys(url string, client *http.Client, now func() time.Time) *keys {
	if client == nil {
		client = &http.Client{}
	}
	return &keys{url: url, client: client, now: now, calls: callback.New(maxRunning), byKid: map[string]*answer{}, allowed: maxBurst, allowedT: now()}
}

// get returns the key of a kid. Calls for the same kid share one lookup.
func (k *keys) get(ctx context.Context, kid string) (key, error) {
	a, mustLookUp, isNew := k.find(kid)
	switch {
	case a == nil:
		return key{}, fmt.Errorf("%w: too many new kids", ErrUnavailable)
	case mustLookUp:
		k.fillAnswer(ctx, kid, a, isNew)
	default:
		select {
		case <-a.done:
		case <-ctx.Done():
			return key{}, unavailable(ctx.Err())
		}
	}
	return a.key, a.err
}

// find returns the answer about a kid. mustLookUp means that the caller must look up the kid; isNew
// means that no good key is known for the kid. A nil answer means that a lookup is not allowed now.
func (k *keys) find(kid string) (a *answer, mustLookUp, isNew bool) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.byKid[kid]
	if old != nil && (old.pending() || now.Before(old.until)) {
		return old, false, false
	}
	isNew = old == nil || old.key.public == nil
	if isNew && !k.mayLookUp(now) {
		return nil, false, false
	}
	if len(k.byKid) >= maxKept {
		k.forget(now)
	}
	a = &answer{done: make(chan struct{})}
	if !isNew {
		// If the lookup fails, its callers get an error, but the old key stays, so that the next lookup does not count as one of
		// a new kid.
		a.key = old.key
	}
	k.byKid[kid] = a
	return a, true, isNew
}

// mayLookUp spends one of the allowed lookups of new kids, and reports whether there was one.
func (k *keys) mayLookUp(now time.Time) bool {
	k.allowed = min(maxBurst, k.allowed+max(0, now.Sub(k.allowedT).Seconds()))
	k.allowedT = now
	if k.atOnce >= maxAtOnce || k.allowed < 1 {
		return false
	}
	k.atOnce++
	k.allowed--
	return true
}

// forget makes room: it removes expired answers. If that is not enough, it removes every answer for which no
// caller waits.
func (k *keys) forget(now time.Time) {
	for _, all := range []bool{false, true} {
		for kid, a := range k.byKid {
			if !a.pending() && (all || !now.Before(a.until)) {
				delete(k.byKid, kid)
			}
		}
		if len(k.byKid) < maxKept {
			return
		}
	}
}

// fillAnswer looks up a kid and fills its answer. Other callers wait for it, so it does not end with
// the call that began it.
func (k *keys) fillAnswer(ctx context.Context, kid string, a *answer, isNew bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	var found lookedUp
	var until time.Time
	err := ErrUnavailable // the result if k.now panics: the clock may be the receiver's own
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if isNew {
			k.atOnce--
		}
		a.err = err
		switch {
		case !errors.Is(err, ErrUnavailable):
			a.key, a.until = found.key, until
		case isNew:
			delete(k.byKid, kid) // the lookup had no result
		}
		close(a.done)
	}()
	errLookUp := k.calls.Wait(ctx)
	if errLookUp == nil {
		found, errLookUp = callback.Run(ctx, k.calls, func() (lookedUp, error) { return k.lookUp(ctx, kid) })
	}
	until = k.now().Add(found.keep)
	if err = errLookUp; err != nil && !errors.Is(err, ErrRefused) {
		err = unavailable(err)
	}
}

// lookedUp is the result of a lookup, and how long to keep it.
type lookedUp struct {
	key  key
	keep time.Duration
}

// lookUp calls the issuer (infra/docs/contract.md, "Webhook verification key lookup"). Every error except ErrRefused means that
// it is not known whether such a key exists.
func (k *keys) lookUp(ctx context.Context, kid string) (found lookedUp, err error) {
	body, err := json.Marshal(map[string]string{"kid": kid})
	if err != nil {
		return found, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url, bytes.NewReader(body))
	if err != nil {
		return found, cause.Of(err)
	}
	req.Header.Set("Content-Type", "application/json")
	a, err := fetch.Do(k.client, req, maxAnswer)
	if err != nil {
		return found, err
	}
	found.key, err = keyOf(kid, a.Status, a.Body)
	found.keep = keepFor(a.Header.Get("Cache-Control"))
	return found, err
}

func unavailable(cause error) error { return fmt.Errorf("%w: %w", ErrUnavailable, cause) }

// keyOf reads the answer of a lookup. A 404 without the code unknown_kid does not come from the
// API, so it proves nothing.
func keyOf(kid string, status int, body []byte) (key, error) {
	var found struct {
		Kid, Kty, Crv, X, Y string
		Alg, Use            *string
		Code                string
		ExpiredAt           int64
	}
	if status == http.StatusGone {
		return key{}, refused(RevokedKey)
	}
	if err := json.Unmarshal(body, &found); err != nil {
		return key{}, fmt.Errorf("the lookup answered %d and no JSON", status)
	}
	switch {
	case status == http.StatusNotFound && found.Code == "unknown_kid", status == http.StatusBadRequest && found.Code == "invalid_kid":
		return key{}, refused(UnknownKey)
	case status != http.StatusOK:
		return key{}, fmt.Errorf("the lookup answered %d", status)
	}
	x, okX := decode64(found.X)
	y, okY := decode64(found.Y)
	switch {
	case found.Kid != kid, found.Kty != "EC", found.Crv != "P-256", found.Alg != nil && *found.Alg != "ES256",
		found.Use != nil && *found.Use != "sig", !okX, !okY:
		return key{}, errors.New("the lookup answered another key, or none for ES256")
	}
	public, err := p256.PublicKey(x, y)
	if err != nil {
		return key{}, err
	}
	return key{public: public, expiredAt: found.ExpiredAt}, nil
}

var maxAgeIn = regexp.MustCompile(`(?i)(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])`)

// keepFor returns how long to keep an answer with this Cache-Control.
func keepFor(cacheControl string) time.Duration {
	m := maxAgeIn.FindStringSubmatch(cacheControl)
	if m == nil {
		return noMaxAgeKept
	}
	seconds, err := strconv.Atoi(m[1])
	if err != nil {
		return noMaxAgeKept
	}
	return min(time.Duration(seconds)*time.Second, longestKept)
}
