package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"latchkey/pkg/problem"
	"latchkey/pkg/secret"
)

// An idempotency record keeps the answer of a create for 24 hours, sealed with a
// key that only the caller has: the raw Idempotency-Key is stored nowhere, so
// the whole table together opens no record.
const (
	attrRequest   = "request"   // SHA-256 of the request's body
	attrSealed    = "sealed"    // nonce and AES-256-GCM ciphertext of the answer
	attrSalt      = "salt"      // 16 bytes for HKDF
	attrExpiresAt = "expiresAt" // milliseconds; also of API keys

	idempotencyFor = 24 * time.Hour
	saltLen        = 16
	sealKeyLen     = 32 // AES-256
)

// Request is a request that creates something, and what makes it the same request when
// it is sent again. The zero value was sent without an Idempotency-Key.
type Request struct {
	Key       secret.String // the Idempotency-Key header; empty: there was none
	Principal string        // the caller's id
	Method    string
	Path      string // the real path, not the pattern
	Body      []byte
}

// Once makes a create happen once for a request, and renders the answer. Without Render
// the answer is empty.
type Once[Made any] struct {
	Request Request
	Render  func(Made) ([]byte, error)
}

// Created is what a create has made, with its answer.
type Created[Made any] struct {
	Made     Made          // the zero value when the answer was kept
	Answer   secret.String // as Once rendered it, now or the first time; it may hold a key
	Replayed bool          // the same request was sent before, and nothing was made now
}

// render returns what was made with its answer.
func (o Once[Made]) render(made Made) (c Created[Made], err error) {
	c.Made = made
	if o.Render == nil {
		return c, nil
	}
	answer, err := o.Render(made)
	c.Answer = secret.New(string(answer))
	return c, err
}

// committed returns what a create ended with: what it made, the answer that was kept of
// the same request, or an error.
func (c Created[Made]) committed(err error) (Created[Made], error) {
	var r replayed
	switch {
	case errors.As(err, &r):
		return Created[Made]{Answer: r.answer, Replayed: true}, nil
	case err != nil:
		return Created[Made]{}, err
	}
	return c, nil
}

func (r Request) keyed() bool { return r.Key.Reveal() != "" }

// idemScope is what an Idempotency-Key is unique within. Lengths stand before
// the parts, so that no two scopes share a text.
type idemScope struct{ principal, method, path, key string }

func (c idemScope) hash() string {
	h := sha256.New()
	for _, part := range []string{c.principal, c.method, c.path, c.key} {
		_, _ = io.WriteString(h, strconv.Itoa(len(part))+":"+part) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (r Request) rowKey() key {
	return idempotencyKey(idemScope{r.Principal, r.Method, r.Path, r.Key.Reveal()})
}

// replayed is the error that carries a kept answer out of a transaction.
type replayed struct{ answer secret.String }

func (replayed) Error() string { return "store: replayed" }

// once adds the record of a request to a transaction, with the answer to keep. When the
// key was used before, the refusal is idempotency_key_reused for another request, and the
// kept answer for the same one.
func (t *txn) once(s *Store, r Request, answer secret.String) error {
	if !r.keyed() {
		return nil
	}
	k := r.rowKey()
	salt := make([]byte, saltLen)
	if _, err := io.ReadFull(s.random(), salt); err != nil {
		return err
	}
	sealed, err := r.seal(s.random(), []byte(answer.Reveal()), salt, k.pk)
	if err != nil {
		return err
	}
	now := s.now()
	until := now + idempotencyFor.Milliseconds()
	request := sha256.Sum256(r.Body)
	row := item{
		attrRequest: bin(request[:]), attrSealed: bin(sealed), attrSalt: bin(salt),
		attrExpiresAt: num(until), attrPurgeAt: num(until / 1000),
	}
	t.put(s.table, k, row, expr{
		when:   ifAbsent + " OR expiresAt <= :now",
		values: item{":now": num(now)},
	}, r.replay)
	t.own(row) // by its random salt
	return nil
}

// replay answers from a record that is there and has not expired.
func (r Request) replay(found item) error {
	request := sha256.Sum256(r.Body)
	if string(found.bin(attrRequest)) != string(request[:]) {
		return problem.New(problem.IdempotencyKeyReused, "This Idempotency-Key was sent with another body before.")
	}
	answer, err := r.open(found.bin(attrSealed), found.bin(attrSalt), r.rowKey().pk)
	if err != nil {
		return fmt.Errorf("store: a kept answer does not open: %w", err)
	}
	return replayed{secret.New(string(answer))}
}

// kept looks at a record read before a transaction. It returns nil when there
// is none in force.
func (r Request) kept(found item, now int64) error {
	if !r.keyed() || found == nil || found.num(attrExpiresAt) <= now {
		return nil
	}
	return r.replay(found)
}

// cipher derives the record's own key (HKDF-SHA-256, RFC 5869) from the
// caller's Idempotency-Key.
func (r Request) cipher(salt []byte, info string) (cipher.AEAD, error) {
	k, err := hkdf.Key(sha256.New, []byte(r.Key.Reveal()), salt, info, sealKeyLen)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(k)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (r Request) seal(random io.Reader, answer, salt []byte, info string) ([]byte, error) {
	aead, err := r.cipher(salt, info)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, err
	}
	return aead.Seal(nonce, nonce, answer, nil), nil
}

func (r Request) open(sealed, salt []byte, info string) ([]byte, error) {
	aead, err := r.cipher(salt, info)
	if err != nil {
		return nil, err
	}
	if len(sealed) < aead.NonceSize() {
		return nil, io.ErrUnexpectedEOF
	}
	return aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], nil)
}

// random is the store's randomness.
func (s *Store) random() io.Reader {
	if s.Rand != nil {
		return s.Rand
	}
	return rand.Reader
}
