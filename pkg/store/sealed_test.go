package store

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"testing"

	"latchkey/pkg/secret"
)

// record is what the table has of a request, by attribute.
type record map[string]string

func sealed(t *testing.T, r Request, answer string) record {
	t.Helper()
	salt, box, err := r.seal(rand.Reader, []byte(answer), r.row().PK)
	if err != nil {
		t.Fatal(err)
	}
	request := sha256.Sum256(r.Body)
	return record{"PK": r.row().PK, "SK": r.row().SK, "request": string(request[:]), "sealed": string(box), "salt": string(salt)}
}

// TestTheTableItselfOpensNoKeptAnswer tries everything that a thief of the whole table has as
// the Idempotency-Key. Only the caller's own key opens the record.
func TestTheTableItselfOpensNoKeptAnswer(t *testing.T) {
	const header, answer = "6f2d9b0c-1111-4222-8333-444455556666", `{"key":"lk_secret"}`
	o := Request{Key: secret.New(header), Principal: "usr_1", Method: "POST", Path: "/v1/orgs", Body: []byte("{}")}
	row := sealed(t, o, answer)
	tries := []string{"", "usr_1", "POST", "/v1/orgs", "{}"}
	for _, value := range row {
		tries = append(tries, value)
	}
	tries = append(tries, header[:35], header+"0", "7"+header[1:])
	for range 1000 {
		tries = append(tries, rand.Text())
	}
	for _, guess := range tries {
		thief := o
		thief.Key = secret.New(guess)
		if text, err := thief.open([]byte(row["sealed"]), []byte(row["salt"]), row["PK"]); err == nil {
			t.Fatalf("%q opens the record: %s", guess, text)
		}
	}
	text, err := o.open([]byte(row["sealed"]), []byte(row["salt"]), row["PK"])
	if err != nil || string(text) != answer {
		t.Fatalf("its own key does not open it: %q, %v", text, err)
	}
	if strings.Contains(row["sealed"], "lk_secret") {
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
	if _, err := other.open([]byte(row["sealed"]), []byte(row["salt"]), other.row().PK); err == nil {
		t.Error("it opened")
	}
}

func TestTheSameAnswerIsSealedAnewEachTime(t *testing.T) {
	o := Request{Key: secret.New("6f2d9b0c-1111-4222-8333-444455556666")}
	if first, second := sealed(t, o, "x"), sealed(t, o, "x"); first["sealed"] == second["sealed"] {
		t.Error("two records are the same")
	}
}
