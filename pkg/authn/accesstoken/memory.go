package accesstoken

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxRemembered bounds each half of a memory: 8,192 tokens in all. Past it the oldest are removed,
// and are verified or asked about again.
const maxRemembered = 4096

// memory remembers something about tokens for a time, by their hashes. It has two halves: new hashes
// go into the younger one, which replaces the older one when it is full.
type memory[T any] struct {
	now func() time.Time

	mu             sync.Mutex
	younger, older map[[sha256.Size]byte]remembered[T]
}

type remembered[T any] struct {
	value       T
	from, until time.Time
}

func newMemory[T any](now func() time.Time) *memory[T] {
	return &memory[T]{now: now, younger: map[[sha256.Size]byte]remembered[T]{}}
}

// add remembers a value until a time.
func (m *memory[T]) add(raw string, value T, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.younger) >= maxRemembered {
		m.older, m.younger = m.younger, map[[sha256.Size]byte]remembered[T]{}
	}
	m.younger[sha256.Sum256([]byte(raw))] = remembered[T]{value, m.wall(), until}
}

// get returns the value of a token, if there is one. A clock that was set back ends it.
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

// wall returns the time without the monotonic clock, which stops while a Lambda function is frozen.
func (m *memory[T]) wall() time.Time { return m.now().Round(0) }
