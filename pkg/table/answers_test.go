package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// answering is a DynamoDB that gives its answers in order, and then repeats the last answer. An answer
// is JSON: an error if it has a __type. It can also be a number, the status of an answer without
// content, or "hang up": the connection breaks.
type answering struct {
	answers  []string
	requests []map[string]json.RawMessage // the requests that it got
}

// Do is the call of the SDK's client.
func (a *answering) Do(r *http.Request) (*http.Response, error) {
	var in map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	answer, status := a.answers[min(len(a.requests), len(a.answers)-1)], http.StatusOK
	a.requests = append(a.requests, in)
	if strings.Contains(answer, "__type") {
		status = http.StatusBadRequest
	} else if n, err := strconv.Atoi(answer); err == nil {
		status, answer = n, "{}"
	} else if answer == "hang up" {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// errFault is in every error of a call: Rules.Fault adds it.
var errFault = errors.New("a fault")

// tableOf returns the table "t" on a database that gives answers. The SDK itself tries each call once.
func tableOf(answers ...string) (*Table, *answering) { return tableWith(aws.NopRetryer{}, answers...) }

// retrying is like tableOf, but the SDK tries each call three times, without a pause.
func retrying(answers ...string) (*Table, *answering) {
	return tableWith(retry.NewStandard(func(o *retry.StandardOptions) {
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	}), answers...)
}

func tableWith(retryer aws.Retryer, answers ...string) (*Table, *answering) {
	db := &answering{answers: answers}
	anyCredentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
	})
	client := dynamodb.New(dynamodb.Options{Region: "us-east-1", Credentials: anyCredentials, HTTPClient: db, Retryer: retryer})
	return New(client, "t", Rules{
		Fault: func(err error) error { return errors.Join(errFault, err) },
		First: func(error) bool { return false },
	}), db
}

// key is the key of a row in DynamoDB's JSON. All rows of these tests are in the partition "p".
func key(sk string) string { return fmt.Sprintf(`{"PK":{"S":"p"},"SK":{"S":%q}}`, sk) }

// keysOf is one key in the form of both RequestItems and UnprocessedKeys.
func keysOf(sk string) string { return `{"t":{"ConsistentRead":true,"Keys":[` + key(sk) + `]}}` }

// same reports whether two texts are the same JSON: the SDK writes members in any order.
func same(got json.RawMessage, want string) bool {
	var x, y any
	return json.Unmarshal(got, &x) == nil && json.Unmarshal([]byte(want), &y) == nil && reflect.DeepEqual(x, y)
}

func TestUnprocessedKeysAreRequestedAgain(t *testing.T) {
	synctest.Test(t, testUnprocessedKeysAreRequestedAgain) // on a fake clock: pauses take no time
}

func testUnprocessedKeysAreRequestedAgain(t *testing.T) {
	tb, db := tableOf(
		`{"Responses":{"t":[`+key("a")+`]},"UnprocessedKeys":`+keysOf("b")+`}`,
		`{"UnprocessedKeys":`+keysOf("b")+`}`,
		`{"Responses":{"t":[`+key("b")+`]}}`,
	)
	a, b, missing := Key{"p", "a"}, Key{"p", "b"}, Key{"p", "c"}
	rows, err := tb.Batch(t.Context(), a, b, missing)
	if err != nil || len(rows) != 2 || rows[a] == nil || rows[b] == nil {
		t.Errorf("%v, %v", rows, err)
	}
	if len(db.requests) != 3 || !same(db.requests[2]["RequestItems"], keysOf("b")) {
		t.Errorf("requested %s", db.requests)
	}
}

// TestKeysThatStayUnprocessedAreAFault: Batch does not treat their rows as absent.
func TestKeysThatStayUnprocessedAreAFault(t *testing.T) {
	synctest.Test(t, testKeysThatStayUnprocessedAreAFault) // on a fake clock: pauses take no time
}

func testKeysThatStayUnprocessedAreAFault(t *testing.T) {
	tb, db := tableOf(`{"UnprocessedKeys":` + keysOf("b") + `}`)
	rows, err := tb.Batch(t.Context(), Key{"p", "b"})
	if !errors.Is(err, errFault) || rows != nil || len(db.requests) != 5 {
		t.Errorf("%v, %v after %d tries", rows, err, len(db.requests))
	}
}

// cancelled is the answer to a transaction of two operations. The first failed its condition. The second
// met a conflict or was throttled, by its code, so its condition was not evaluated.
func cancelled(code string) string {
	return `{"__type":"TransactionCanceledException","CancellationReasons":[{"Code":"ConditionalCheckFailed"},{"Code":"` + code + `"}]}`
}

func TestAThrottledOrConflictingTransactionIsTriedAgain(t *testing.T) {
	synctest.Test(t, testAThrottledOrConflictingTransactionIsTriedAgain) // on a fake clock: pauses take no time
}

func testAThrottledOrConflictingTransactionIsTriedAgain(t *testing.T) {
	commit := func(answers ...string) (*answering, error) {
		tb, db := tableOf(answers...)
		tx := tb.Begin()
		tx.Check(Key{"p", "a"}, Exists, Raced)
		tx.Update(Key{"p", "b"}, Exists, nil, count.Set(1))
		return db, tx.Commit(t.Context())
	}
	for what, answer := range map[string]string{
		"a conflict": cancelled("TransactionConflict"), "throttled": cancelled("ThrottlingError"),
		"over the throughput": cancelled("ProvisionedThroughputExceeded"), "in progress": stillAtWork,
	} {
		db, err := commit(answer, answer, "{}")
		if err != nil || len(db.requests) != 3 || string(db.requests[0]["ClientRequestToken"]) != string(db.requests[2]["ClientRequestToken"]) {
			t.Errorf("%s: %v after %d tries, or another client token", what, err, len(db.requests))
		}
		if db, err := commit(answer); !errors.Is(err, ErrBusy) || !errors.Is(err, errFault) || len(db.requests) != 5 {
			t.Errorf("always %s: %v after %d tries", what, err, len(db.requests))
		}
	}
}

// stillAtWork is the answer to a transaction when an earlier try of it is still being carried out.
const stillAtWork = `{"__type":"TransactionInProgressException"}`

func TestATransactionGivesWayOnlyIfNoTryCanBeDone(t *testing.T) {
	synctest.Test(t, testATransactionGivesWayOnlyIfNoTryCanBeDone) // on a fake clock: pauses take no time
}

func testATransactionGivesWayOnlyIfNoTryCanBeDone(t *testing.T) {
	conflict := cancelled("TransactionConflict")
	for what, c := range map[string]struct {
		answers []string // to the tries before the last one
		gives   bool     // after the first answer
	}{
		"a conflict":                      {[]string{conflict}, true},
		"throttled":                       {[]string{cancelled("ThrottlingError")}, true},
		"over the throughput":             {[]string{cancelled("ProvisionedThroughputExceeded")}, true},
		"a conflict with one row":         {[]string{`{"__type":"TransactionConflictException"}`}, true},
		"in progress":                     {[]string{stillAtWork, stillAtWork, stillAtWork}, false}, // the SDK makes three tries
		"no answer, then a conflict":      {[]string{"hang up", conflict, conflict}, false},
		"no answer, then in progress":     {[]string{"hang up", stillAtWork, stillAtWork}, false},
		"a 500, then over the throughput": {[]string{"500", cancelled("ProvisionedThroughputExceeded")}, false},
	} {
		tb, db := retrying(append(c.answers, "{}")...)
		tx := tb.Begin()
		tx.GiveWay = true
		tx.Update(Key{"p", "b"}, Exists, nil, count.Set(1))
		err := tx.Commit(t.Context())
		if c.gives && (!errors.Is(err, ErrRaced) || len(db.requests) != 1) {
			t.Errorf("%s: %v after %d tries", what, err, len(db.requests))
		}
		last := db.requests[len(db.requests)-1]
		isSame := string(db.requests[0]["ClientRequestToken"]) == string(last["ClientRequestToken"])
		if !c.gives && (err != nil || len(db.requests) != len(c.answers)+1 || !isSame) {
			t.Errorf("%s: %v after %d tries, or another client token", what, err, len(db.requests))
		}
	}
}

func TestAConflictingMarkIsTriedAgain(t *testing.T) {
	synctest.Test(t, testAConflictingMarkIsTriedAgain) // on a fake clock: pauses take no time
}

func testAConflictingMarkIsTriedAgain(t *testing.T) {
	const conflict = `{"__type":"TransactionConflictException"}`
	mark := func(answers ...string) (*answering, bool, error) {
		tb, db := tableOf(answers...)
		done, err := tb.Mark(t.Context(), Key{"p", "a"}, Exists, nil, count.Set(1))
		return db, done, err
	}
	if db, done, err := mark(conflict, conflict, "{}"); !done || err != nil || len(db.requests) != 3 {
		t.Errorf("%v, %v after %d tries", done, err, len(db.requests))
	}
	if db, done, err := mark(conflict); done || !errors.Is(err, ErrBusy) || !errors.Is(err, errFault) || len(db.requests) != 5 {
		t.Errorf("always a conflict: %v, %v after %d tries", done, err, len(db.requests))
	}
}
