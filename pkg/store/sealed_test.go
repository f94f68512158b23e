package store

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"testing"

	"latchkey/pkg/secret"
)

// record is the idempotency record of a request, as a row of the table: its values by attribute.
type record map[string]string

// sealed returns the record of a request with its answer.
func sealed(t *testing.T, r Request, answer string) record {
	t.Helper()
	salt, ciphertext, err := r.seal(rand.Reader, []byte(answer), r.row().PK)
	if err != nil {
		t.Fatal(err)
	}
	return record{"PK": r.row().PK, "SK": r.row().SK, "request": string(r.Body[:]), "sealed": string(ciphertext), "salt": string(salt)}
}

// TestTheTableCannotOpenAKeptAnswer: a thief of the whole table knows the request but not the Idempotency-Key.
// The test tries other texts as the Idempotency-Key: everything that the thief has, almost right keys, and random
// texts. Only the caller's key opens the record.
func TestTheTableCannotOpenAKeptAnswer(t *testing.T) {
	const header, answer = "6f2d9b0c-1111-4222-8333-444455556666", `{"key":"lk_secret"}`
	own := Request{Key: secret.New(header), Principal: "usr_1", Method: "POST", Path: "/v1/orgs", Body: sha256.Sum256([]byte("{}"))}
	row := sealed(t, own, answer)
	tries := []string{"", "usr_1", "POST", "/v1/orgs", "{}"}
	for _, value := range row {
		tries = append(tries, value)
	}
	tries = append(tries, header[:35], header+"0", "7"+header[1:]) // one character less, one more, and one changed
	for range 1000 {
		tries = append(tries, rand.Text())
	}
	for _, guess := range tries {
		thief := own
		thief.Key = secret.New(guess)
		if text, err := thief.open([]byte(row["sealed"]), []byte(row["salt"]), row["PK"]); err == nil {
			t.Fatalf("%q opens the record: %s", guess, text)
		}
	}
	text, err := own.open([]byte(row["sealed"]), []byte(row["salt"]), row["PK"])
	if err != nil || string(text) != answer {
		t.Fatalf("its own key does not open it: %q, %v", text, err)
	}
	if strings.Contains(row["sealed"], "lk_secret") {
		t.Error("the record holds the answer")
	}
}

// TestARecordMovedToAnotherRowDoesNotOpen: the encryption key of a record depends on its partition key. So a thief
// who can write in the table cannot give one request the answer of another.
func TestARecordMovedToAnotherRowDoesNotOpen(t *testing.T) {
	request := Request{Key: secret.New("6f2d9b0c-1111-4222-8333-444455556666"), Principal: "usr_1", Method: "POST", Path: "/a"}
	row := sealed(t, request, "x")
	other := request
	other.Path = "/b" // so its record is another row
	if _, err := other.open([]byte(row["sealed"]), []byte(row["salt"]), other.row().PK); err == nil {
		t.Error("the moved record opened")
	}
}

// TestEqualAnswersAreSealedDifferently: each record has another salt and another nonce, so a thief cannot see that
// two answers are equal.
func TestEqualAnswersAreSealedDifferently(t *testing.T) {
	request := Request{Key: secret.New("6f2d9b0c-1111-4222-8333-444455556666")}
	if first, second := sealed(t, request, "x"), sealed(t, request, "x"); first["sealed"] == second["sealed"] {
		t.Error("two records are the same")
	}
}
