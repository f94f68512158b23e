package store

import (
	"bytes"
	"crypto/rand"
	"testing"
	"time"

	"latchkey/pkg/secret"
)

// sealed is a record in the table.
func sealed(t *testing.T, r Request, answer string) item {
	t.Helper()
	s := &Store{Now: time.Now, table: new(string)}
	tx := &txn{}
	if err := tx.once(s, r, secret.New(answer)); err != nil {
		t.Fatal(err)
	}
	return tx.ops[0].Put.Item
}

// TestTheTableItselfOpensNoKeptAnswer tries everything that a thief of the whole table has as
// the Idempotency-Key. Only the caller's own key opens the record.
func TestTheTableItselfOpensNoKeptAnswer(t *testing.T) {
	const header, answer = "6f2d9b0c-1111-4222-8333-444455556666", `{"key":"lk_secret"}`
	o := Request{Key: secret.New(header), Principal: "usr_1", Method: "POST", Path: "/v1/orgs", Body: []byte("{}")}
	row := sealed(t, o, answer)
	tries := []string{"", "usr_1", "POST", "/v1/orgs", "{}", row.str(attrPK), row.str(attrSK)}
	for _, name := range []string{attrRequest, attrSealed, attrSalt} {
		tries = append(tries, string(row.bin(name)))
	}
	tries = append(tries, header[:35], header+"0", "7"+header[1:])
	for range 1000 {
		tries = append(tries, rand.Text())
	}
	for _, guess := range tries {
		thief := o
		thief.Key = secret.New(guess)
		if text, err := thief.open(row.bin(attrSealed), row.bin(attrSalt), row.str(attrPK)); err == nil {
			t.Fatalf("%q opens the record: %s", guess, text)
		}
	}
	text, err := o.open(row.bin(attrSealed), row.bin(attrSalt), row.str(attrPK))
	if err != nil || string(text) != answer {
		t.Fatalf("its own key does not open it: %q, %v", text, err)
	}
	if bytes.Contains(row.bin(attrSealed), []byte("lk_secret")) {
		t.Error("the record holds the answer")
	}
}

// TestARecordMovedToAnotherRowDoesNotOpen: the partition of a record is part of the key that
// seals it.
func TestARecordMovedToAnotherRowDoesNotOpen(t *testing.T) {
	o := Request{Key: secret.New("6f2d9b0c-1111-4222-8333-444455556666"), Principal: "usr_1", Method: "POST", Path: "/a"}
	row := sealed(t, o, "x")
	other := o
	other.Path = "/b"
	if _, err := other.open(row.bin(attrSealed), row.bin(attrSalt), other.rowKey().pk); err == nil {
		t.Error("it opened")
	}
}

func TestTheSameAnswerIsSealedAnewEachTime(t *testing.T) {
	o := Request{Key: secret.New("6f2d9b0c-1111-4222-8333-444455556666")}
	if bytes.Equal(sealed(t, o, "x").bin(attrSealed), sealed(t, o, "x").bin(attrSealed)) {
		t.Error("two records are the same")
	}
}
