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

// An idempotency record keeps the answer of a create for 24 hours. It is sealed with a key that
// only the caller has: the Idempotency-Key itself is stored nowhere, so the whole table together
// opens no record.
const (
	attrRequest   = "request"   // SHA-256 of the request's body
	attrSealed    = "sealed"    // nonce and AES-256-GCM ciphertext of the answer
	attrSalt      = "salt"      // 16 bytes for HKDF
	attrExpiresAt = "expiresAt" // milliseconds; also of API keys and links

	idempotencyFor = 24 * time.Hour
	saltLen        = 16
	sealKeyLen     = 32 // AES-256
)

// Request identifies a request that creates something, so that it is recognised when it is sent
// again. The zero value is a request without an Idempotency-Key.
type Request struct {
	Key       secret.String // the Idempotency-Key header; empty: none
	Principal string        // the caller's id
	Method    string
	Path      string // the real path, not the pattern
	Body      []byte
}

// Once makes a create happen once for a request, and renders its answer. Without Render the
// answer is empty.
type Once[Made any] struct {
	Request Request
	Render  func(Made) ([]byte, error)
}

// Created is the result of a create, with its answer.
type Created[Made any] struct {
	Made     Made          // the zero value when the answer is a kept one
	Answer   secret.String // rendered by Once, now or the first time; it may hold an API key
	Replayed bool          // the same request was sent before, and nothing was created now
}

// render returns made with its answer.
func (o Once[Made]) render(made Made) (c Created[Made], err error) {
	c.Made = made
	if o.Render == nil {
		return c, nil
	}
	answer, err := o.Render(made)
	c.Answer = secret.New(string(answer))
	return c, err
}

// committed returns the result of a create after its transaction: the new thing, the kept answer
// of the same request, or an error.
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

// idemScope is the scope in which an Idempotency-Key is unique. hash writes the length before
// each part, so that no two scopes have the same text.
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

// replayed is an error that holds a kept answer, to end a transaction with it.
type replayed struct{ answer secret.String }

func (replayed) Error() string { return "store: replayed" }

// once adds the record of a request to a transaction, with the answer to keep. When the
// Idempotency-Key was used before, the refusal is idempotency_key_reused for another request,
// and replayed for the same one.
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
	t.own(row) // the random salt proves it
	return nil
}

// replay returns replayed with the answer of a record in force, or idempotency_key_reused.
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

// kept is replay for a record that was read before a transaction. It returns nil when there is
// no record in force.
func (r Request) kept(found item, now int64) error {
	if !r.keyed() || found == nil || found.num(attrExpiresAt) <= now {
		return nil
	}
	return r.replay(found)
}

// cipher derives the record's own key from the caller's Idempotency-Key (HKDF-SHA-256, RFC 5869).
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

// random returns the store's source of randomness.
func (s *Store) random() io.Reader {
	if s.Rand != nil {
		return s.Rand
	}
	return rand.Reader
}
