package table

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	name    = Text[string]("name") // a reserved word of DynamoDB
	count   = Int("count")
	open    = Bool("open")
	ratio   = JSON[float64]("ratio")
	entries = Map[int64]("entries")
	bits    = Bits[[16]byte]("bits")
)

// spelt returns an expression's text with its names and values in place of the placeholders.
func spelt(e *Expression, text *string) string {
	if text == nil {
		return ""
	}
	out := *text
	// Backward, so that #1 is not replaced within #10.
	for _, placeholder := range slices.Backward(slices.Sorted(maps.Keys(e.names))) {
		out = strings.ReplaceAll(out, placeholder, e.names[placeholder])
	}
	for _, placeholder := range slices.Backward(slices.Sorted(maps.Keys(e.values))) {
		value := "?"
		switch v := e.values[placeholder].(type) {
		case *types.AttributeValueMemberS:
			value = "'" + v.Value + "'"
		case *types.AttributeValueMemberN:
			value = v.Value
		case *types.AttributeValueMemberBOOL:
			value = map[bool]string{true: "true", false: "false"}[v.Value]
		}
		out = strings.ReplaceAll(out, placeholder, value)
	}
	return out
}

func TestConditionsAreRenderedAsExpressions(t *testing.T) {
	for want, c := range map[string]Condition{
		"attribute_exists(PK)":                            Exists,
		"attribute_not_exists(PK)":                        Absent,
		"attribute_exists(name)":                          name.Present(),
		"attribute_not_exists(name)":                      name.Absent(),
		"name = 'a'":                                      name.Is("a"),
		"name <> 'a'":                                     name.Not("a"),
		"name IN ('a', 'b')":                              name.In("a", "b"),
		"count > 1":                                       count.Over(1),
		"count < 1":                                       count.Under(1),
		"count <= 1":                                      count.AtMost(1),
		"count BETWEEN 1 AND 2":                           count.Between(1, 2),
		"size(entries) < 3":                               Shorter(entries, 3),
		"entries.key_1 = 4":                               Entry(entries, "key_1").Is(4),
		"attribute_not_exists(count)":                     Any(count.IsOrAbsent(0)),
		"(count = 2 AND name = 'a')":                      All(count.IsOrAbsent(2), name.IsOrAbsent("a")),
		"(open = true AND count > 1)":                     All(open.Is(true), nil, count.Over(1)),
		"(count > 1 OR (name = 'a' AND count <= 5))":      Any(count.Over(1), All(name.Is("a"), count.AtMost(5))),
		"(attribute_exists(PK) AND attribute_exists(PK))": All(Exists, Exists), // one placeholder for both
	} {
		e := render(c)
		if got := spelt(e, e.condition()); got != want || e.err != nil {
			t.Errorf("%s, %v; want %s", got, e.err, want)
		}
	}
}

func TestChangesAreRenderedAsExpressions(t *testing.T) {
	for want, c := range map[string]Change{
		"":                                        nil,
		"SET name = 'a', count = 1":               Changes(name.Set("a"), nil, count.Set(1)),
		"SET count = if_not_exists(count, 1)":     count.SetIfAbsent(1),
		"SET name = 'a' REMOVE count, open":       Changes(count.Remove(), name.Set("a"), open.Remove()),
		"SET name = 'a' REMOVE open ADD count 1":  Changes(Add(count, 1), name.Set("a"), open.Remove()),
		"SET count = 5 + if_not_exists(count, 0)": SetSum(count, Literal(5), Stored(count)),
		"SET entries.k = 1 REMOVE entries.l":      Changes(Entry(entries, "k").Set(1), Entry(entries, "l").Remove()),
		"SET count = 2 REMOVE name, entries":      Changes(name.SetOrRemove(""), count.SetOrRemove(2), entries.SetOrRemove(nil)),
		"SET open = true":                         If(true, open.Set(true)),
		"REMOVE name":                             Changes(If(false, open.Set(true)), name.Remove()),
	} {
		e := render(nil, c)
		if got := spelt(e, e.update()); got != want || e.err != nil {
			t.Errorf("%s, %v; want %s", got, e.err, want)
		}
	}
}

func TestEveryNameOfAnExpressionIsAPlaceholder(t *testing.T) {
	e := render(All(name.Is("a"), Exists), name.Set("b"), Entry(entries, "x.y").Remove())
	for _, text := range []string{*e.condition(), *e.update()} {
		for _, name := range []string{"name", "PK", "entries", "x"} {
			if strings.Contains(strings.ReplaceAll(text, "attribute_exists", ""), name) { // "exists" has an x
				t.Errorf("%s has %s", text, name)
			}
		}
	}
}

// TestAValueReadsAsItWasWritten has one attribute of each format.
func TestAValueReadsAsItWasWritten(t *testing.T) {
	e := render(nil, name.Set("a"), count.Set(-5), open.Set(true), ratio.Set(0.5), entries.Set(map[string]int64{"k": 7}), Bytes("bytes").Set([]byte{1}), bits.Set([16]byte{15: 1}))
	r := Read(e.row)
	if name.From(&r) != "a" || count.From(&r) != -5 || !open.From(&r) || ratio.From(&r) != 0.5 ||
		entries.From(&r)["k"] != 7 || string(Bytes("bytes").From(&r)) != "\x01" || bits.From(&r) != [16]byte{15: 1} || r.Err() != nil {
		t.Errorf("%+v, %v", e.row, r.Err())
	}
}

func TestAnAttributeOfAnotherTypeDoesNotDecode(t *testing.T) {
	row := Row{
		"PK": text("p"), "SK": text("s"), "name": number(1), "count": text("1"), "open": text("true"), "ratio": text("secret"),
		"entries": &types.AttributeValueMemberM{Value: Row{"k": text("secret")}}, "bytes": text("secret"),
		"bits": text("key_00000000000000000000000001"),
	}
	for name, read := range map[string]func(*Reading){
		"name": func(r *Reading) { name.From(r) }, "count": func(r *Reading) { count.OrZero(r) }, "open": func(r *Reading) { open.OrZero(r) },
		"ratio": func(r *Reading) { ratio.OrZero(r) }, "entries": func(r *Reading) { entries.OrZero(r) }, "bytes": func(r *Reading) { Bytes("bytes").OrZero(r) },
		"bits":    func(r *Reading) { bits.OrZero(r) },
		"missing": func(r *Reading) { Int("missing").From(r) },
	} {
		r := Read(row)
		read(&r)
		if err := r.Err(); !errors.Is(err, ErrRow) || err.Error() != "table: a row does not decode: "+name+" of p s" {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := Read(row)
	if Int("missing").OrZero(&r) != 0 || r.Err() != nil {
		t.Errorf("a missing attribute that may be absent: %v", r.Err())
	}
}

// TestAWrongTransactionIsNotSent: the table has no client, so that a call would fail the test. A case is
// named by a part of the error.
func TestAWrongTransactionIsNotSent(t *testing.T) {
	k := Key{"p", "s"}
	for what, addWrong := range map[string]func(*Txn){
		"names the row p s twice": func(t *Txn) { t.Check(k, Exists, nil); t.Update(k, nil, nil, count.Set(1)) },
		"than Set and Remove":     func(t *Txn) { t.Create(k, Add(count, 1)) },
		"the value of ratio":      func(t *Txn) { t.Update(k, nil, nil, ratio.Set(math.NaN())) },
		"the caller's error":      func(t *Txn) { t.Fail(errors.New("the caller's error")) },
	} {
		tx := New(nil, "t", Rules{}).Begin()
		addWrong(tx)
		if err := tx.Commit(t.Context()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestARowOfOtherChangesThanSetIsNotSent is like TestAWrongTransactionIsNotSent, for a row that is created without a transaction.
func TestARowOfOtherChangesThanSetIsNotSent(t *testing.T) {
	for what, wrong := range map[string]Change{"than Set and Remove": Add(count, 1), "the value of ratio": ratio.Set(math.NaN())} {
		if err := New(nil, "t", Rules{}).Create(t.Context(), Key{"p", "s"}, wrong); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestARowProvesItsWriteWithoutTheIndex: a proof has the attributes that a write has set. The attributes of the index are not compared,
// because another process may change them soon afterwards.
func TestARowProvesItsWriteWithoutTheIndex(t *testing.T) {
	tb := New(nil, "t", Rules{Index: Index{Name: "due", PK: "due", SK: "dueAt"}})
	proof := Row{"name": text("a"), "due": number(1)}
	for what, c := range map[string]struct {
		row  Row
		want bool
	}{
		"the row":                       {Row{"PK": text("p"), "name": text("a"), "due": number(1)}, true},
		"the row, off the index by now": {Row{"PK": text("p"), "name": text("a")}, true},
		"the row of another writer":     {Row{"PK": text("p"), "name": text("b"), "due": number(1)}, false},
		"a row without the attribute":   {Row{"PK": text("p")}, false},
		"no row":                        {nil, false},
	} {
		if got := tb.hasProof(c.row, proof); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	if tb.hasProof(Row{"PK": text("p")}, nil) {
		t.Error("a row proves a write that has no proof")
	}
}

func TestAUseCaseThatIsAlwaysRacedIsBusy(t *testing.T) {
	synctest.Test(t, testAUseCaseThatIsAlwaysRacedIsBusy) // on a fake clock: pauses take no time
}

func testAUseCaseThatIsAlwaysRacedIsBusy(t *testing.T) {
	tries, tb := 0, New(nil, "t", Rules{Fault: func(err error) error { return err }})
	err := tb.Retry(t.Context(), func() error {
		tries++
		return ErrRaced
	})
	if !errors.Is(err, ErrBusy) || tries != 8 {
		t.Errorf("%d tries, %v", tries, err)
	}
	other := errors.New("other")
	if err := tb.Retry(t.Context(), func() error { return other }); !errors.Is(err, other) {
		t.Error(err)
	}
}

func TestAPauseIsShortAndEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := pause(t.Context(), 0); err != nil || time.Since(began) != 0 {
			t.Errorf("the first try waits %v, %v", time.Since(began), err)
		}
		err := pause(t.Context(), 1)
		if waited := time.Since(began); err != nil || waited < 10*time.Millisecond || waited > 100*time.Millisecond {
			t.Errorf("the second try waits %v, %v", waited, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := pause(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a pause does not end with its request: %v", err)
		}
	})
}

// TestBitsHave16BytesAndAreNotAllZero: other bytes do not decode, and a condition or a change with zero bits is an error.
func TestBitsHave16BytesAndAreNotAllZero(t *testing.T) {
	for _, length := range []int{0, 15, 17, 32} {
		row := Row{"bits": &types.AttributeValueMemberB{Value: bytes.Repeat([]byte{1}, length)}}
		if _, err := Decode(row, bits.OrZero); !errors.Is(err, ErrRow) {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
	row := Row{"bits": &types.AttributeValueMemberB{Value: make([]byte, 16)}}
	if _, err := Decode(row, bits.OrZero); !errors.Is(err, ErrRow) {
		t.Errorf("zeros: %v", err)
	}
	if e := render(bits.Is([16]byte{}), bits.Set([16]byte{})); e.err == nil {
		t.Error("no bits were written")
	}
}
