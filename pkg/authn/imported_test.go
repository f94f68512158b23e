package authn_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/apikey"
	"latchkey/pkg/authn"
	"latchkey/pkg/authn/authntest"
	"latchkey/pkg/id"
	"latchkey/pkg/problem"
	"latchkey/pkg/secret"
	"latchkey/pkg/store"
)

const foreign = "sk_live_8fKq2Lx0Zr" // a key of the owner's earlier system

// importedTable returns a table with a key that was imported.
func importedTable(t *testing.T) *authntest.Table {
	t.Helper()
	_, table := minted(t)
	table.Key.Hash = apikey.HashOf(foreign)
	table.Imports = map[apikey.Hash]store.Imported{table.Key.Hash: {Org: table.Key.OrgID, Key: table.Key.ID}}
	return table
}

// acceptingImported returns an authorizer that accepts imported keys.
func acceptingImported(table authn.Table, fallback authn.Fallback, atOnce int) *authn.Authorizer {
	a := authn.New(table, &authntest.Tokens{})
	a.TakeImported(fallback, atOnce)
	return a
}

// check checks a text, within five seconds.
func check(a *authn.Authorizer, text string) (store.APIKey, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return a.Key(ctx, []string{"Bearer " + text})
}

// TestAnImportedKeyIsDecidedByItsRow: the id of the imported key is read once, and the key's row at each check.
func TestAnImportedKeyIsDecidedByItsRow(t *testing.T) {
	table := importedTable(t)
	a := acceptingImported(table, func(context.Context, string) error { t.Error("the fallback was called"); return nil }, 1)
	another := apikey.HashOf("another")
	table.Imports[another] = table.Imports[table.Key.Hash]
	for n := range 3 {
		row, err := check(a, foreign)
		if err != nil || row.ID != table.Key.ID || table.Looked != 1 || table.Reads != n+1 {
			t.Fatalf("%+v, %v: %d and %d reads", row, err, table.Looked, table.Reads)
		}
	}
	for range 2 { // a second text does not replace the first in the memory
		_, err := check(a, "another")
		wantCode(t, err, problem.InvalidCredentials) // the hash in the row is of another text
		if _, err := check(a, foreign); err != nil || table.Looked != 2 {
			t.Errorf("two texts were looked up %d times: %v", table.Looked, err)
		}
	}
	table.Key.RevokedAt = 1
	_, err := check(a, foreign)
	wantCode(t, err, problem.KeyRevoked)
	table.Key.RevokedAt, table.Key.ExpiresAt = 0, 1
	_, err = check(a, foreign)
	wantCode(t, err, problem.KeyExpired)
	table.Key.Hash[31]++ // the hash is of another text now
	_, err = check(a, foreign)
	wantCode(t, err, problem.InvalidCredentials)
	table.Key.ID = id.NoKey // the key's row is gone, so the import is read again
	_, err = check(a, foreign)
	wantCode(t, err, problem.InvalidCredentials)
	if table.Looked != 3 {
		t.Errorf("the imports were read %d times", table.Looked)
	}
}

// TestOnlyAForeignTextIsLookedUp: a key of Latchkey and a link's token are not looked up, and in a deployment that accepts no imported
// keys, no text is.
func TestOnlyAForeignTextIsLookedUp(t *testing.T) {
	table := importedTable(t)
	ours, err := apikey.Mint("lk", id.Source{}.NewOrg(), id.Source{}.NewKey(time.Now()), nil)
	link, errLink := secret.Mint(secret.LinkPrefix, [16]byte{1}, [16]byte{1}, nil)
	if err := errors.Join(err, errLink); err != nil {
		t.Fatal(err)
	}
	a := acceptingImported(table, func(context.Context, string) error { t.Error("the fallback was called"); return nil }, 1)
	for text, code := range map[string]problem.Code{
		ours.Key.Reveal(): problem.InvalidCredentials, link.Text.Reveal(): problem.InvalidCredentials,
	} {
		table.Imports[apikey.HashOf(text)] = store.Imported{Org: table.Key.OrgID, Key: table.Key.ID}
		_, err := check(a, text)
		wantCode(t, err, code)
	}
	for text, code := range map[string]problem.Code{foreign: problem.InvalidCredentials, jwt: problem.APIKeyRequired} {
		_, err = check(authn.New(table, nil), text)
		wantCode(t, err, code)
	}
	if table.Looked != 0 {
		t.Errorf("the imports were read %d times", table.Looked)
	}
}

// TestAnImportedKeyMayHaveTheFormOfAToken: such a text was imported with success, so it must be accepted. A text that was not imported
// may be a person's access token, so the fallback never gets it.
func TestAnImportedKeyMayHaveTheFormOfAToken(t *testing.T) {
	for _, text := range []string{"SG.8fKq2Lx0ZrT5vNwB3mYcPd.x", jwt} {
		table := importedTable(t)
		table.Key.Hash = apikey.HashOf(text)
		a := acceptingImported(table, func(context.Context, string) error { t.Error("the fallback was called"); return nil }, 1)
		_, err := check(a, text)
		wantCode(t, err, problem.APIKeyRequired)
		table.Down = errors.New("down")
		if _, err := check(a, text); !errors.Is(err, table.Down) {
			t.Errorf("%.3s, without the table: %v", text, err)
		}
		table.Down, table.Looked = nil, 0
		table.Imports[table.Key.Hash] = store.Imported{Org: table.Key.OrgID, Key: table.Key.ID}
		for range 2 {
			if row, err := check(a, text); err != nil || row.ID != table.Key.ID || table.Looked != 1 {
				t.Errorf("%.3s: %+v, %v, looked up %d times", text, row, err, table.Looked)
			}
		}
		table.Key.RevokedAt = 1
		_, err = check(a, text)
		wantCode(t, err, problem.KeyRevoked)
	}
}

func TestATextThatWasNotImportedIsLookedUpEachTime(t *testing.T) {
	table := importedTable(t)
	imports := table.Imports
	table.Imports = nil
	a := acceptingImported(table, nil, 0)
	_, err := check(a, foreign)
	wantCode(t, err, problem.InvalidCredentials)
	table.Imports = imports
	if _, err := check(a, foreign); err != nil {
		t.Errorf("after its import: %v", err)
	}
	table.Down = errors.New("down")
	for _, text := range []string{foreign, "another"} {
		if _, err := check(a, text); !errors.Is(err, table.Down) {
			t.Errorf("%s, without the table: %v", text, err)
		}
	}
}

// TestTheFallbackMayOnlyImport: a fallback without an error does not make a key valid, and an error of it is never a refusal.
func TestTheFallbackMayOnlyImport(t *testing.T) {
	table := importedTable(t)
	imports := table.Imports
	refusal := problem.New(problem.InvalidCredentials, "of another system")
	for name, c := range map[string]struct {
		imports map[apikey.Hash]store.Imported // the rows that the fallback adds
		err     error
		code    problem.Code // "": the key is accepted
	}{
		"imports the key":        {imports, nil, ""},
		"does not know the key":  {nil, nil, problem.InvalidCredentials},
		"returns an error":       {nil, refusal, "fault"},
		"imports, then an error": {imports, refusal, "fault"},
	} {
		table.Imports = nil
		calls := 0
		a := acceptingImported(table, func(_ context.Context, text string) error {
			calls++
			if text != foreign {
				t.Errorf("%s: called with %q", name, text)
			}
			table.Imports = c.imports
			return c.err
		}, 1)
		_, err := check(a, foreign)
		_, isRefusal := problem.Refusal(err)
		switch {
		case c.code == "" && err == nil:
		case c.code == "fault" && err != nil && !isRefusal:
		case !problem.Is(err, c.code):
			t.Errorf("%s: %v", name, err)
		}
		if calls != 1 {
			t.Errorf("%s: called %d times", name, calls)
		}
	}
	table.Imports, table.Key.ID = imports, id.NoKey // imported, but the key's row is gone
	_, err := check(acceptingImported(table, func(context.Context, string) error { t.Error("called for an imported text"); return nil }, 1), foreign)
	wantCode(t, err, problem.InvalidCredentials)
}

// lookupTable is a table with one imported key. It answers each read of an import with the next of its answers.
type lookupTable struct {
	*authntest.Table
	answers []string // no, yes, away
}

func (l *lookupTable) Imported(ctx context.Context, h apikey.Hash) (at store.Imported, ok bool, err error) {
	answer := l.answers[0]
	l.answers = l.answers[1:]
	switch answer {
	case "no":
		return at, false, nil
	case "yes":
		return l.Table.Imported(ctx, h)
	default:
		return at, false, errAway
	}
}

var errAway = errors.New("the table is away")

// TestTheFallbackIsCalledOnlyWhenNeeded: only one call may run at once, and after each check another call may run.
func TestTheFallbackIsCalledOnlyWhenNeeded(t *testing.T) {
	type outcome struct {
		result string
		calls  int // calls of the fallback
		unused int // answers that the table did not give
	}
	for name, c := range map[string]struct {
		answers string // answers of the table
		want    outcome
	}{
		"imported_by_the_fallback": {"no no yes", outcome{"good", 1, 0}},
		"imported_while_it_waits":  {"no yes", outcome{"good", 0, 0}},
		"unknown_to_the_fallback":  {"no no no", outcome{"refused", 1, 0}},
		"away_at_first":            {"away", outcome{"fault", 0, 0}},
		"away_while_it_waits":      {"no away", outcome{"fault", 0, 0}},
		"away_after_the_fallback":  {"no no away", outcome{"fault", 1, 0}},
	} {
		table := &lookupTable{Table: importedTable(t)}
		calls := 0
		a := acceptingImported(table, func(context.Context, string) error { calls++; return nil }, 1)
		try := func(text, answers string) outcome {
			table.answers, calls = strings.Fields(answers), 0
			table.Key.Hash = apikey.HashOf(text) // a text that is not remembered
			table.Imports = map[apikey.Hash]store.Imported{table.Key.Hash: {Org: table.Key.OrgID, Key: table.Key.ID}}
			_, err := check(a, text)
			result := "good"
			if errors.Is(err, errAway) {
				result = "fault"
			} else if err != nil {
				result = "refused"
			}
			return outcome{result, calls, len(table.answers)}
		}
		if got := try("sk_live_"+name, c.answers); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if got := try("sk_live_after", "no no yes"); got != (outcome{"good", 1, 0}) {
			t.Errorf("after %s: another text got %v", name, got)
		}
	}
}

// TestAFallbackThatPanicsIsAFault tries each way in which a fallback can end without a return. The error contains no part of the text,
// and another call may run afterwards.
func TestAFallbackThatPanicsIsAFault(t *testing.T) {
	for name, fallback := range map[string]func(text string){
		"a slice":             func(text string) { _ = text[:len(text)+1] },
		"an index":            func(text string) { _ = strings.Split(text, ".")[3] },
		"a nil map":           func(text string) { map[string]bool(nil)[text] = true }, //nolint:govet,staticcheck // an owner's mistake
		"a nil pointer":       func(string) { _ = (*store.APIKey)(nil).ID },            //nolint:govet // an owner's mistake
		"a type":              func(text string) { _, _ = any(text).(int), any(text).(error) },
		"a key of a map":      func(text string) { _ = map[any]bool{}[[]string{text}] },
		"the text":            func(text string) { panic(text) },
		"an error with it":    func(text string) { panic(fmt.Errorf("no row of %s", text)) },
		"a struct with it":    func(text string) { panic(struct{ key string }{text}) },
		"an error as runtime": func(text string) { panic(fmt.Errorf("%w", errors.New(text))) },
		"nil":                 func(string) { panic(nil) }, //nolint:govet // an owner's mistake
		"Goexit":              func(string) { runtime.Goexit() },
		"a panic in a defer":  func(text string) { defer func() { panic(text) }(); panic("first") },
	} {
		t.Run(name, func(t *testing.T) {
			a := acceptingImported(none{}, func(_ context.Context, text string) error { fallback(text); return nil }, 1)
			for range 3 { // one call may run at once
				begun := time.Now()
				_, err := check(a, foreign)
				if _, isRefusal := problem.Refusal(err); err == nil || isRefusal || strings.Contains(err.Error(), foreign) {
					t.Fatalf("%v", err)
				}
				if took := time.Since(begun); took > 2*time.Second {
					t.Fatalf("the caller waited for %s", took)
				}
			}
		})
	}
}

// TestAnErrorOfTheFallbackShowsItsCauseOrTypes: it never shows the text of the key, in any encoding.
func TestAnErrorOfTheFallbackShowsItsCauseOrTypes(t *testing.T) {
	const text = `sk_live+/"45b2%ü`
	refused := &url.Error{Op: "Get", URL: "http://127.0.0.1:1/keys?key=" + url.QueryEscape(text), Err: syscall.ECONNREFUSED}
	for name, c := range map[string]struct {
		err  error
		want string // the text after "authn: the fallback: "
	}{
		"an address":        {refused, "connection refused"},
		"a wrapped address": {fmt.Errorf("earlier: %w", refused), "connection refused"},
		"joined errors":     {errors.Join(errors.New(text), refused), "connection refused"},
		"quoted":            {fmt.Errorf("no row of %q", text), "an error of the type *errors.errorString"},
		"hex":               {fmt.Errorf("no row of %x", text), "an error of the type *errors.errorString"},
		"base64":            {errors.New(base64.URLEncoding.EncodeToString([]byte(text))), "an error of the type *errors.errorString"},
		"backwards":         {errors.New("ü%2b54\"/+evil_ks"), "an error of the type *errors.errorString"},
		"a problem":         {problem.New(problem.InvalidCredentials, text), "an error of the type *problem.Error"},
		"a nil pointer":     {(*url.Error)(nil), "panic at url.go:"},
	} {
		_, err := check(acceptingImported(none{}, func(context.Context, string) error { return c.err }, 1), text)
		if _, isRefusal := problem.Refusal(err); err == nil || isRefusal || !strings.HasPrefix(err.Error(), "authn: the fallback: "+c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// none is a table without imported keys, for several goroutines.
type none struct{ authn.Table }

func (none) Imported(context.Context, apikey.Hash) (at store.Imported, ok bool, err error) {
	return at, false, nil
}

// TestAHangingFallbackDelaysOnlyItsOwnTexts: two calls hang and ignore their context, and a third waits for its turn. All
// three fail when their time is over.
func TestAHangingFallbackDelaysOnlyItsOwnTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		var called atomic.Int32
		a := acceptingImported(none{}, func(context.Context, string) error {
			called.Add(1)
			<-hangs
			return nil
		}, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var done sync.WaitGroup
		for range 3 {
			done.Go(func() {
				_, err := a.Key(ctx, []string{"Bearer " + foreign})
				if _, isRefusal := problem.Refusal(err); err == nil || isRefusal {
					t.Errorf("while the fallback hangs: %v", err)
				}
			})
		}
		begun := time.Now()
		done.Wait()
		if took := time.Since(begun); took != time.Second || called.Load() != 2 {
			t.Errorf("%s, %d calls at once", took, called.Load())
		}
		close(hangs)
		synctest.Wait()
		_, err := check(a, foreign)
		wantCode(t, err, problem.InvalidCredentials) // other calls may run again
	})
}
