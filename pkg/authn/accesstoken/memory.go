package accesstoken

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// rememberFor is how long userinfo is not called again for a token without a profile.
	rememberFor = 5 * time.Minute
	// maxRemembered bounds each half of the memory: 8,192 hashes in all, which is less than 1
	// MB. Past it the oldest are removed, and userinfo is called for them again.
	maxRemembered = 4096
)

// memory remembers tokens for 5 minutes, by hash. It has two halves: new hashes go into the
// younger one, which replaces the older one when it is full.
type memory struct {
	now func() time.Time

	mu             sync.Mutex
	younger, older map[[sha256.Size]byte]time.Time
}

func newMemory(now func() time.Time) *memory {
	return &memory{now: now, younger: map[[sha256.Size]byte]time.Time{}}
}

func (m *memory) add(raw string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.younger) >= maxRemembered {
		m.older, m.younger = m.younger, map[[sha256.Size]byte]time.Time{}
	}
	m.younger[sha256.Sum256([]byte(raw))] = m.wall()
}

func (m *memory) has(raw string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	hash, now := sha256.Sum256([]byte(raw)), m.wall()
	for _, half := range []map[[sha256.Size]byte]time.Time{m.younger, m.older} {
		if at, ok := half[hash]; ok {
			age := now.Sub(at)
			return age >= 0 && age < rememberFor
		}
	}
	return false
}

// wall returns the time without the monotonic clock, which stops while a Lambda function is frozen.
func (m *memory) wall() time.Time { return m.now().Round(0) }
