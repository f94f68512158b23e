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

// Once makes a create happen once: the caller's Idempotency-Key, what it was
// sent for and the answer to keep. The zero value asks for nothing.
type Once struct {
	Key       secret.String // the Idempotency-Key header; empty: none was sent
	Principal string        // the caller's id
	Method    string
	Path      string // the real path, not the pattern
	Request   []byte // the request's body
	Answer    []byte // the answer's body, to be kept if this request is the first
}

func (o Once) asked() bool { return o.Key.Reveal() != "" }

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

func (o Once) rowKey() key {
	return idempotencyKey(idemScope{o.Principal, o.Method, o.Path, o.Key.Reveal()})
}

// replayed is the error that carries a kept answer out of a transaction.
type replayed struct{ answer []byte }

func (replayed) Error() string { return "store: replayed" }

// once adds the record to a transaction. When the key was used before, the
// refusal is idempotency_key_reused for another request, and the kept answer
// for the same one.
func (t *txn) once(s *Store, o Once) error {
	if !o.asked() {
		return nil
	}
	k := o.rowKey()
	salt := make([]byte, saltLen)
	if _, err := io.ReadFull(s.random(), salt); err != nil {
		return err
	}
	sealed, err := o.seal(s.random(), salt, k.pk)
	if err != nil {
		return err
	}
	now := s.now()
	until := now + idempotencyFor.Milliseconds()
	request := sha256.Sum256(o.Request)
	row := item{
		attrRequest: bin(request[:]), attrSealed: bin(sealed), attrSalt: bin(salt),
		attrExpiresAt: num(until), attrPurgeAt: num(until / 1000),
	}
	t.put(s.table, k, row, expr{
		when:   ifAbsent + " OR expiresAt <= :now",
		values: item{":now": num(now)},
	}, o.replay)
	t.own(row) // by its random salt
	return nil
}

// replay answers from a record that is there and has not expired.
func (o Once) replay(found item) error {
	request := sha256.Sum256(o.Request)
	if string(found.bin(attrRequest)) != string(request[:]) {
		return problem.New(problem.IdempotencyKeyReused, "This Idempotency-Key was sent with another body before.")
	}
	answer, err := o.open(found.bin(attrSealed), found.bin(attrSalt), o.rowKey().pk)
	if err != nil {
		return fmt.Errorf("store: a kept answer does not open: %w", err)
	}
	return replayed{answer}
}

// kept looks at a record read before a transaction. It returns nil when there
// is none in force.
func (o Once) kept(found item, now int64) error {
	if !o.asked() || found == nil || found.num(attrExpiresAt) <= now {
		return nil
	}
	return o.replay(found)
}

// settle splits what a use case ended with: the kept answer, or an error.
func settle(err error) (answer []byte, _ error) {
	var r replayed
	if errors.As(err, &r) {
		return r.answer, nil
	}
	return nil, err
}

// cipher derives the record's own key (HKDF-SHA-256, RFC 5869) from the
// caller's Idempotency-Key.
func (o Once) cipher(salt []byte, info string) (cipher.AEAD, error) {
	k, err := hkdf.Key(sha256.New, []byte(o.Key.Reveal()), salt, info, sealKeyLen)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(k)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (o Once) seal(random io.Reader, salt []byte, info string) ([]byte, error) {
	aead, err := o.cipher(salt, info)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, err
	}
	return aead.Seal(nonce, nonce, o.Answer, nil), nil
}

func (o Once) open(sealed, salt []byte, info string) ([]byte, error) {
	aead, err := o.cipher(salt, info)
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
