package accesstoken

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxRemembered limits each half of a memory, so a memory has at most 8,192 tokens. When both halves are full, the older half
// is forgotten: its tokens are verified again, or userinfo is called for them again.
const maxRemembered = 4096

// memory remembers a value for each token for a time, by the token's hash. It has two halves: add puts new hashes into
// younger. When younger is full, it becomes the older half, and the previous older half is forgotten.
type memory[T any] struct {
	now func() time.Time

	mu             sync.Mutex
	younger, older map[[sha256.Size]byte]remembered[T]
}

type remembered[T any] struct {
	value       T
	from, until time.Time // the value is valid from when it was added until its end
}

func newMemory[T any](now func() time.Time) *memory[T] {
	return &memory[T]{now: now, younger: map[[sha256.Size]byte]remembered[T]{}}
}

// add remembers the value of a token until a time.
func (m *memory[T]) add(raw string, value T, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.younger) >= maxRemembered {
		m.older, m.younger = m.younger, map[[sha256.Size]byte]remembered[T]{}
	}
	m.younger[sha256.Sum256([]byte(raw))] = remembered[T]{value, m.wall(), until}
}

// get returns the value of a token. ok is false when there is no value, when its time is over, and when the clock was set
// back to a time before it was added.
func (m *memory[T]) get(raw string) (value T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	hash, now := sha256.Sum256([]byte(raw)), m.wall()
	for _, half := range []map[[sha256.Size]byte]remembered[T]{m.younger, m.older} {
		if r, found := half[hash]; found {
			return r.value, !now.Before(r.from) && now.Before(r.until)
		}
	}
	return value, false
}

// wall returns the time without the monotonic clock: that clock stops while a Lambda function is frozen, so values
// would be remembered for too long.
func (m *memory[T]) wall() time.Time { return m.now().Round(0) }
