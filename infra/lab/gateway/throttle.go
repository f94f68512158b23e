package gateway

import (
	"sync"
	"time"

	"latchkey/infra/lab/translated"
)

// throttle counts requests in token buckets, one for each method, as API Gateway documents it
// ("Throttle requests to your REST APIs"). A bucket holds at most burst tokens and gains rate
// tokens a second; a request takes one. A method without a setting has a bucket with the stage's
// setting for all methods. The account's limits are left out.
type throttle struct {
	settings map[string]translated.Throttle

	mu      sync.Mutex
	buckets map[string]*bucket // by method and path
}

type bucket struct {
	tokens float64
	filled time.Time
}

// Throttle makes the gateway refuse requests over the template's limits. Tests do without, so that they are
// not slowed down.
func (g *Gateway) Throttle() {
	g.throttle = &throttle{settings: g.api.Throttles, buckets: map[string]*bucket{}}
}

// take reports whether a method takes one more request now. A nil throttle, and a method without
// any setting, takes any number.
func (t *throttle) take(method string, now time.Time) bool {
	if t == nil {
		return true
	}
	limit, own := t.settings[method]
	if !own {
		var all bool
		if limit, all = t.settings[translated.AllMethods]; !all {
			return true
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buckets[method]
	if b == nil {
		b = &bucket{float64(limit.Burst), now}
		t.buckets[method] = b
	}
	b.tokens = min(b.tokens+now.Sub(b.filled).Seconds()*limit.Rate, float64(limit.Burst))
	b.filled = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
