package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// page is DynamoDB's answer to a query: rows with the sort keys sks. If next is not "", more rows follow after
// the row next.
func page(next string, sks ...string) string {
	var rows []string
	for _, sk := range sks {
		rows = append(rows, key(sk))
	}
	if next != "" {
		next = `,"LastEvaluatedKey":` + key(next)
	}
	return `{"Items":[` + strings.Join(rows, ",") + `]` + next + `}`
}

func sksOf(rows []Row) (sks []string) {
	for _, r := range rows {
		sks = append(sks, r.Key().SK)
	}
	return sks
}

// TestAPageIsFilledFromShortAnswers: DynamoDB may end an answer at any row, also before the first. A page has
// two rows here, and Query requests three: the third row shows that more follow.
func TestAPageIsFilledFromShortAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		want    []string // the sort keys of the page
		more    bool
		limits  []string // the Limit of each call: the rows that are still missing of the three
	}{
		"no row":                         {[]string{page("")}, nil, false, []string{"3"}},
		"less than a page":               {[]string{page("", "a")}, []string{"a"}, false, []string{"3"}},
		"exactly a page":                 {[]string{page("", "a", "b")}, []string{"a", "b"}, false, []string{"3"}},
		"a page and one row more":        {[]string{page("c", "a", "b", "c")}, []string{"a", "b"}, true, []string{"3"}},
		"three answers":                  {[]string{page("a", "a"), page("a"), page("", "b", "c")}, []string{"a", "b"}, true, []string{"3", "2", "2"}},
		"an empty answer, then a row":    {[]string{page("a"), page("", "b")}, []string{"b"}, false, []string{"3", "3"}},
		"a page, then a row":             {[]string{page("b", "a", "b"), page("", "c")}, []string{"a", "b"}, true, []string{"3", "1"}},
		"a page, then an empty last one": {[]string{page("b", "a", "b"), page("")}, []string{"a", "b"}, false, []string{"3", "1"}},
	} {
		tb, db := tableOf(c.answers...)
		rows, more, err := tb.Query(t.Context(), Span{PK: "p", Limit: 2})
		var limits []string
		for _, r := range db.requests {
			limits = append(limits, string(r["Limit"]))
		}
		if err != nil || more != c.more || !slices.Equal(sksOf(rows), c.want) || !slices.Equal(limits, c.limits) {
			t.Errorf("%s: %v, more %v, %v, requested %v", name, sksOf(rows), more, err, limits)
		}
	}
	tb, db := tableOf(page("a", "a"), page("", "b"))
	if _, _, err := tb.Query(t.Context(), Span{PK: "p", Limit: 5}); err != nil || !same(db.requests[1]["ExclusiveStartKey"], key("a")) {
		t.Errorf("%v, continues after %s", err, db.requests[1]["ExclusiveStartKey"])
	}
	tb, _ = tableOf(page("a", "a"), `{"__type":"InternalServerError"}`)
	if rows, more, err := tb.Query(t.Context(), Span{PK: "p", Limit: 5}); !errors.Is(err, errFault) || more {
		t.Errorf("%v, %v, %v", rows, more, err)
	}
}

func TestASpanIsReadStronglyInBothDirections(t *testing.T) {
	for when, s := range map[string]Span{
		`PK = :pk`:                          {},
		`PK = :pk AND begins_with(SK, :sk)`: {Prefix: "x", From: "y"}, // the prefix counts
		`PK = :pk AND SK >= :from`:          {From: "y", Until: "z"},  // From counts
		`PK = :pk AND SK < :until`:          {Until: "z"},
	} {
		s.PK, s.Limit = "p", 1
		for _, s.Reverse = range []bool{false, true} {
			for _, s.After = range []string{"", "b"} {
				tb, db := tableOf(page(""))
				_, _, err := tb.Query(t.Context(), s)
				in := db.requests[0]
				startIsRight := in["ExclusiveStartKey"] == nil
				if s.After != "" {
					startIsRight = same(in["ExclusiveStartKey"], key(s.After))
				}
				if err != nil || string(in["KeyConditionExpression"]) != mustJSON(when) || string(in["ConsistentRead"]) != "true" ||
					string(in["ScanIndexForward"]) != fmt.Sprint(!s.Reverse) || !startIsRight {
					t.Errorf("%+v: %s, %v", s, in, err)
				}
			}
		}
	}
}

// mustJSON returns a value as JSON in which < and > are not escaped: the SDK does not escape them.
func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(b))
}

// TestTheIndexIsReadPastUncountedRows: with the limit 2, Index reads until two rows count, but at most four rows in all.
func TestTheIndexIsReadPastUncountedRows(t *testing.T) {
	even := func(r Row) bool { return strings.Contains("bdfh", r.Key().SK) } // the letters a, b, c… are numbered from 1
	for name, c := range map[string]struct {
		answers []string
		counts  func(Row) bool
		want    string // the sort keys of the rows
		calls   int
	}{
		"all rows count":            {[]string{page("b", "a", "b")}, nil, "ab", 1},
		"every second row counts":   {[]string{page("b", "a", "b"), page("c", "c"), page("d", "d")}, even, "abcd", 3},
		"no row of four counts":     {[]string{page("c", "a", "c"), page("g", "e", "g"), page("", "b")}, even, "aceg", 2},
		"the index ends before two": {[]string{page("", "a")}, even, "a", 1},
	} {
		tb, db := tableOf(c.answers...)
		tb.rules.Index = Index{Name: "due", PK: "due", SK: "dueAt"}
		rows, err := tb.Index(t.Context(), "K", 3, 9, 2, c.counts)
		in := db.requests[0]
		if err != nil || strings.Join(sksOf(rows), "") != c.want || len(db.requests) != c.calls {
			t.Errorf("%s: %v, %v after %d calls", name, sksOf(rows), err, len(db.requests))
		}
		if string(in["KeyConditionExpression"]) != `"due = :pk AND dueAt BETWEEN :from AND :to"` || string(in["IndexName"]) != `"due"` ||
			!same(in["ExpressionAttributeValues"], `{":pk":{"S":"K"},":from":{"N":"3"},":to":{"N":"9"}}`) || in["ConsistentRead"] != nil {
			t.Errorf("%s: %s", name, in)
		}
	}
	tb, _ := tableOf(page("a", "a"), `{"__type":"InternalServerError"}`)
	if rows, err := tb.Index(t.Context(), "K", 3, 9, 5, nil); !errors.Is(err, errFault) || len(rows) != 1 {
		t.Errorf("the rows that were read before a fault: %v, %v", rows, err)
	}
}

func TestARowIsReadStrongly(t *testing.T) {
	tb, db := tableOf(`{"Item":`+key("a")+`}`, `{}`, `{"__type":"InternalServerError"}`)
	if row, err := tb.Get(t.Context(), Key{"p", "a"}); err != nil || row.Key() != (Key{"p", "a"}) || string(db.requests[0]["ConsistentRead"]) != "true" {
		t.Errorf("%v, %v", row, err)
	}
	if row, err := tb.Get(t.Context(), Key{"p", "a"}); err != nil || len(row) != 0 {
		t.Errorf("no row: %v, %v", row, err)
	}
	if row, err := tb.Get(t.Context(), Key{"p", "a"}); !errors.Is(err, errFault) || row != nil {
		t.Errorf("a fault: %v, %v", row, err)
	}
}

func TestOneRowThatDoesNotDecodeFailsItsList(t *testing.T) {
	from := func(r *Reading) int64 { return count.From(r) }
	good, bad := Row{"count": number(7)}, Row{"count": text("7")}
	if all, err := DecodeAll([]Row{good, good}, from); err != nil || !slices.Equal(all, []int64{7, 7}) {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := DecodeAll([]Row{good, bad}, from); !errors.Is(err, ErrRow) || all != nil {
		t.Errorf("%v, %v", all, err)
	}
	if n, err := Decode(bad, func(r *Reading) int64 { count.From(r); return 7 }); !errors.Is(err, ErrRow) || n != 0 {
		t.Errorf("%v, %v", n, err)
	}
}

// TestACancelledTransactionReturnsItsRefusal: the transaction checks row a, deletes row b, and creates row c.
func TestACancelledTransactionReturnsItsRefusal(t *testing.T) {
	errA, errB, errFirst := errors.New("a"), errors.New("b"), errors.New("first")
	const none, failed = `{"Code":"None"}`, `{"Code":"ConditionalCheckFailed"}`
	failedOn := func(item string) string { return `{"Code":"ConditionalCheckFailed","Item":` + item + `}` }
	var saw Row
	refuse := func(err error) Refusal { return func(r Row) error { saw = r; return err } }
	for name, c := range map[string]struct {
		reasons string // DynamoDB's, one for each operation
		second  error  // the error of the second operation's refusal
		want    error  // nil: the transaction is done; errFault: any error that is not a refusal
		sees    bool   // a refusal gets the row that was found
	}{
		"the first condition failed":                  {failed + "," + none + "," + none, errB, errA, false},
		"the second condition failed":                 {none + "," + failed + "," + none, errB, errB, false},
		"both failed":                                 {failed + "," + failed + "," + none, errB, errA, false},
		"both failed, and Rules.First has the second": {failed + "," + failed + "," + none, errFirst, errFirst, false},
		"the first condition failed on a row":         {failedOn(key("a")) + "," + none + "," + none, errB, errA, true},
		"the new row exists, as this one writes it":   {none + "," + none + "," + failedOn(`{"PK":{"S":"p"},"SK":{"S":"c"},"count":{"N":"5"}}`), errB, nil, false},
		"the new row exists, with another value":      {none + "," + none + "," + failedOn(`{"PK":{"S":"p"},"SK":{"S":"c"},"count":{"N":"6"}}`), errB, errFault, false},
		"a fourth reason, for three operations":       {none + "," + none + "," + none + "," + failed, errB, errFault, false},
		"cancelled although no condition failed":      {none + "," + none + "," + none, errB, errFault, false},
	} {
		saw = nil
		tb, db := tableOf(`{"__type":"TransactionCanceledException","CancellationReasons":[` + c.reasons + `]}`)
		tb.rules.First = func(err error) bool { return errors.Is(err, errFirst) }
		tx := tb.Begin()
		tx.Check(Key{"p", "a"}, Exists, refuse(errA))
		tx.Delete(Key{"p", "b"}, count.Is(1), refuse(c.second))
		tx.Create(Key{"p", "c"}, count.Set(5))
		err := tx.Commit(t.Context())
		if c.want == errFault { //nolint:errorlint // compares the list's own entry
			if err == nil || errors.Is(err, errA) || errors.Is(err, errB) {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.Is(err, c.want) || len(db.requests) != 1 || (saw != nil) != c.sees {
			t.Errorf("%s: %v after %d tries, the refusal saw %v", name, err, len(db.requests), saw)
		}
	}
}

// TestARefusalAfterAnUnansweredTryIsAFault: that try may still be carried out. A try that the database
// has answered with a 400 is over.
func TestARefusalAfterAnUnansweredTryIsAFault(t *testing.T) {
	errNo := errors.New("no")
	refused := `{"__type":"TransactionCanceledException","CancellationReasons":[{"Code":"ConditionalCheckFailed"}]}`
	for name, c := range map[string]struct {
		before []string // the answers to the tries before the refused one
		fault  bool
	}{
		"no answer":                  {[]string{"hang up"}, true},
		"no answer, then a conflict": {[]string{"hang up", cancelled("TransactionConflict")}, true},
		"a 500":                      {[]string{"500"}, true},
		"a 503":                      {[]string{"503"}, true},
		"a 400 that may be repeated": {[]string{`{"__type":"ThrottlingException"}`}, false},
		"refused at the first try":   {nil, false},
	} {
		tb, _ := retrying(append(c.before, refused)...)
		tx := tb.Begin()
		tx.Check(Key{"p", "a"}, Exists, func(Row) error { return errNo })
		if err := tx.Commit(t.Context()); !errors.Is(err, errNo) || errors.Is(err, errFault) != c.fault {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAWriteIsRecognisedByItsProof: the condition of a write fails on a row with the count that the write proves (5), or with another
// count (6).
func TestAWriteIsRecognisedByItsProof(t *testing.T) {
	errNo := errors.New("no")
	const found = `{"__type":"ConditionalCheckFailedException","Item":{"PK":{"S":"p"},"SK":{"S":"a"},"count":{"N":"%d"}}}`
	for n, want := range map[int]error{5: nil, 6: errNo} {
		tb, _ := tableOf(fmt.Sprintf(found, n))
		done, err := tb.Mark(t.Context(), Key{"p", "a"}, Absent, func(Row) error { return errNo }, count.Prove(5))
		if done != (want == nil) || !errors.Is(err, want) {
			t.Errorf("a row with %d: %v, %v", n, done, err)
		}
	}
	tb, _ := tableOf(fmt.Sprintf(found, 5))
	if done, err := tb.Mark(t.Context(), Key{"p", "a"}, Absent, nil, count.Set(5)); done || err != nil {
		t.Errorf("without a proof: %v, %v", done, err)
	}
	tb, _ = tableOf(fmt.Sprintf(found, 6))
	if row, done, err := tb.Edit(t.Context(), Key{"p", "a"}, Absent, count.Set(5)); done || err != nil || row.Key().SK != "a" {
		t.Errorf("the row that failed the condition: %v, %v, %v", row, done, err)
	}
	tb, db := tableOf("{}")
	if _, err := tb.Mark(t.Context(), Key{"p", "a"}, nil, nil, ratio.Set(1/zero)); err == nil || len(db.requests) != 0 {
		t.Errorf("a value that cannot be written: %v", err)
	}
	if err := tb.Note(t.Context(), Key{"p", "a"}, nil, ratio.Set(1/zero)); err == nil || len(db.requests) != 0 {
		t.Errorf("a value that cannot be noted: %v", err)
	}
}

// TestTakeIsRepeatedOnlyIfItChangedNothing: Take repeats a write after a conflict or a throttled request. It does not repeat a write
// that may have changed the row.
func TestTakeIsRepeatedOnlyIfItChangedNothing(t *testing.T) {
	const repeated, once = 3, 1 // requests: the third answer is a success
	for answer, again := range map[string]bool{
		"TransactionConflictException": true, "TransactionInProgressException": true, "ThrottlingException": true, "ProvisionedThroughputExceededException": true, "RequestLimitExceeded": true,
		"ValidationException": false, "AccessDeniedException": false, "ResourceNotFoundException": false, "500": false, "503": false, "hang up": false,
	} {
		fault := answer
		if strings.HasSuffix(answer, "n") || strings.HasSuffix(answer, "Exceeded") {
			fault = `{"__type":"com.amazonaws.dynamodb.v20120810#` + answer + `"}`
		}
		synctest.Test(t, func(t *testing.T) {
			tb, db := retrying(fault, fault, `{"Attributes":`+key("a")+`}`)
			row, done, err := tb.Take(t.Context(), Key{"p", "a"}, nil, Add(count, 1))
			if isDone := done && err == nil && row.Key().SK == "a"; isDone != again || len(db.requests) != map[bool]int{true: repeated, false: once}[again] {
				t.Errorf("%s: %v after %d requests, %v", answer, done, len(db.requests), err)
			}
			tb, db = retrying(fault)                   // always this answer: five tries of Take, and none of the SDK
			isRefusal := strings.HasPrefix(fault, "{") // the last answer shows that nothing has changed
			if _, _, err = tb.Take(t.Context(), Key{"p", "a"}, nil, Add(count, 1)); errors.Is(err, ErrRefused) != isRefusal || len(db.requests) != map[bool]int{true: 5, false: 1}[again] {
				t.Errorf("%s, always: %v after %d requests", answer, err, len(db.requests))
			}
		})
	}
}

// zero is a variable because the compiler refuses 1/0. The infinity has no JSON, so it cannot be written.
var zero float64

// TestTriesArePausedUntilTheirCallerGivesUp: the pause before each try but the first is 10 to 100 ms.
func TestTriesArePausedUntilTheirCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			begun := time.Now()
			if err := pause(t.Context(), 1); err != nil || time.Since(begun) < 10*time.Millisecond || time.Since(begun) > 100*time.Millisecond {
				t.Errorf("%v after %s", err, time.Since(begun))
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for try := range 2 {
			if err := pause(ctx, try); !errors.Is(err, context.Canceled) {
				t.Errorf("try %d: %v", try, err)
			}
		}
	})
}
