package store

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"latchkey/pkg/problem"
	"latchkey/pkg/secret"
	"latchkey/pkg/table"
)

// An idempotency record keeps the answer of a create for 24 hours. The answer may hold an API key, so
// it is sealed with a key that is derived from the caller's Idempotency-Key. The Idempotency-Key is
// not stored, so a thief of the whole table cannot open a record.
const (
	idempotencyFor = 24 * time.Hour
	saltLen        = 16
	sealKeyLen     = 32 // AES-256
)

// Request identifies a request that creates something, so that it is recognised when it is sent
// again. The zero value is a request without an Idempotency-Key.
type Request struct {
	Key       secret.String // the Idempotency-Key header; empty: none
	Principal string        // the app of a caller with an API key, the id of any other caller
	Method    string
	Path      string            // the path of the route, with the values of its parameters
	Body      [sha256.Size]byte // the hash of the body as strictjson.Canonical writes it
}

// Once makes a create happen once for a request. Render makes the answer that the record keeps. Without
// Render the answer is empty. Charge charges for the deliveries that the create starts, and returns their number. nil: the create
// starts none.
type Once[Made any] struct {
	Request Request
	Render  func(Made) ([]byte, error)
	Charge  func(context.Context) (paid int, err error)
}

// chargeOnce charges a create before its transaction. A request that is sent again is not charged, and an empty budget does not
// refuse it. Errors: the errors of charge, replayed, idempotency_key_reused.
func (s *Store) chargeOnce(ctx context.Context, r Request, charge func(context.Context) (int, error)) (paid int, err error) {
	if charge == nil {
		return 0, nil
	}
	if err = s.unlessKept(ctx, r, nil); err == nil {
		paid, err = charge(ctx)
	}
	if problem.Is(err, problem.RateLimited) { // an earlier try of this request may have spent the budget, and have ended since
		err = s.unlessKept(ctx, r, err)
	}
	return paid, err
}

// part returns the Once of item i, for a request that creates several items, each in a separate transaction.
func (o Once[Made]) part(i int) Once[Made] {
	o.Request.Path += "#" + strconv.Itoa(i) // a path has no #
	return o
}

// Created is the result of a create, with its answer.
type Created[Made any] struct {
	Made     Made          // the zero value when Replayed
	Answer   secret.String // rendered by Once, now or for the first request; it may hold an API key
	Replayed bool          // the same request was sent before, and nothing was created now
}

// render returns made with its answer. The answer is rendered before the transaction, which writes it.
func (o Once[Made]) render(made Made) (c Created[Made], err error) {
	c.Made = made
	if o.Render == nil {
		return c, nil
	}
	answer, err := o.Render(made)
	c.Answer = secret.New(string(answer))
	return c, err
}

// committed returns the result of a create after its transaction, which has ended with err: the new
// thing, the kept answer of the same request, or the error.
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

// keyed reports whether the request has an Idempotency-Key.
func (r Request) keyed() bool { return r.Key.Reveal() != "" }

// row returns the key of the request's record. An Idempotency-Key is unique for a caller and a
// route. The hashed text has the length before each part, so that no two requests have the same text.
func (r Request) row() table.Key {
	h := sha256.New()
	for _, part := range []string{r.Principal, r.Method, r.Path, r.Key.Reveal()} {
		_, _ = io.WriteString(h, strconv.Itoa(len(part))+":"+part) // a hash never fails
	}
	return idempotencyRow(hex.EncodeToString(h.Sum(nil)))
}

// replayed is the error of a transaction whose request has a kept answer. It holds the answer.
type replayed struct{ answer secret.String }

func (replayed) Error() string { return "store: replayed" }

// once adds the record of a request to a transaction, with the answer to keep. When a record with this
// Idempotency-Key is in force, the refusal is replayed, or idempotency_key_reused when the body of that request meant
// something else. A record is in force until it expires: DynamoDB deletes the row only later.
func (t *txn) once(r Request, answer secret.String) {
	if !r.keyed() {
		return
	}
	row := r.row()
	salt, sealed, err := r.seal(t.s.random(), []byte(answer.Reveal()), row.PK)
	t.Fail(err)
	now := t.s.now()
	until := now + idempotencyFor.Milliseconds()
	t.Put(row, table.Any(table.Absent, attrExpiresAt.AtMost(now)), r.replay,
		attrRequest.Set(r.Body[:]), attrSealed.Set(sealed), attrSalt.Prove(salt), attrExpiresAt.Set(until), attrPurgeAt.Set(until/1000),
	)
}

// replay returns replayed with the answer of a record in force, or idempotency_key_reused.
func (r Request) replay(found table.Row) error {
	row := table.Read(found)
	was, sealed, salt := attrRequest.From(&row), attrSealed.From(&row), attrSalt.From(&row)
	if row.Err() != nil {
		return row.Err()
	}
	if string(was) != string(r.Body[:]) {
		return problem.New(problem.IdempotencyKeyReused, "This Idempotency-Key was sent before with another body.")
	}
	answer, err := r.open(sealed, salt, r.row().PK)
	if err != nil {
		return fmt.Errorf("store: a kept answer does not open: %w", err)
	}
	return replayed{secret.New(string(answer))}
}

// reads returns the keys of rows to read, with the key of the request's record.
func (r Request) reads(rows ...table.Key) []table.Key {
	if r.keyed() {
		rows = append(rows, r.row())
	}
	return rows
}

// kept is replay for a record that was read before a transaction. It returns nil when there is
// no record in force.
func (r Request) kept(found table.Row, now int64) error {
	if !r.keyed() || found == nil {
		return nil
	}
	until, err := table.Decode(found, attrExpiresAt.From)
	if err != nil || until <= now {
		return err
	}
	return r.replay(found)
}

// unlessKept reads the record of the request again. It returns replayed if the record has a kept answer, or else the
// refusal (nil: none). A use case that read its record in a batch with other rows calls unlessKept before it refuses
// because of another row. The rows of a batch are not read at one moment: an earlier try of the same request may have
// been carried out in between, and be the reason of the refusal.
func (s *Store) unlessKept(ctx context.Context, r Request, refusal error) error {
	if !r.keyed() {
		return refusal
	}
	record, err := s.db.Batch(ctx, r.row()) // the functions' roles allow no GetItem of a record
	if err != nil {
		return err
	}
	if err := r.kept(record[r.row()], s.now()); err != nil {
		return err
	}
	return refusal
}

// cipher derives the encryption key of a record from the caller's Idempotency-Key (HKDF-SHA-256, RFC 5869).
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

// seal returns the ciphertext of an answer, with its nonce before it, and the salt of its key. info is
// the partition of the record: the key depends on it, so the ciphertext does not open in another record.
func (r Request) seal(random io.Reader, answer []byte, info string) (salt, sealed []byte, err error) {
	salt = make([]byte, saltLen)
	if _, err := io.ReadFull(random, salt); err != nil {
		return nil, nil, err
	}
	aead, err := r.cipher(salt, info)
	if err != nil {
		return nil, nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, nil, err
	}
	return salt, aead.Seal(nonce, nonce, answer, nil), nil
}

// open returns the answer that seal has sealed.
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
