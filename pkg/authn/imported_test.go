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

// imported returns a table that has the key, which was imported.
func imported(t *testing.T) *authntest.Table {
	t.Helper()
	_, table := minted(t)
	table.Key.Hash = apikey.HashOf(foreign)
	table.Imports = map[apikey.Hash]store.Imported{table.Key.Hash: {Org: table.Key.OrgID, Key: table.Key.ID}}
	return table
}

// taking returns an authorizer that accepts imported keys.
func taking(table authn.Table, fallback authn.Fallback, atOnce int) *authn.Authorizer {
	a := authn.New(table, &authntest.Tokens{})
	a.TakeImported(fallback, atOnce)
	return a
}

// check checks a text, for five seconds at most.
func check(a *authn.Authorizer, text string) (store.APIKey, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return a.Key(ctx, []string{"Bearer " + text})
}

// TestAnImportedKeyIsDecidedByItsRow: the row that leads to it is read once, and its own row at each check.
func TestAnImportedKeyIsDecidedByItsRow(t *testing.T) {
	table := imported(t)
	a := taking(table, func(context.Context, string) error { t.Error("the fallback was asked"); return nil }, 1)
	another := apikey.HashOf("another")
	table.Imports[another] = table.Imports[table.Key.Hash]
	for n := range 3 {
		row, err := check(a, foreign)
		if err != nil || row.ID != table.Key.ID || table.Looked != 1 || table.Reads != n+1 {
			t.Fatalf("%+v, %v: %d and %d reads", row, err, table.Looked, table.Reads)
		}
	}
	for range 2 { // a second text takes no place of the first
		_, err := check(a, "another")
		wants(t, err, problem.InvalidCredentials) // the row is of another text
		if _, err := check(a, foreign); err != nil || table.Looked != 2 {
			t.Errorf("two texts were looked up %d times: %v", table.Looked, err)
		}
	}
	table.Key.RevokedAt = 1
	_, err := check(a, foreign)
	wants(t, err, problem.KeyRevoked)
	table.Key.RevokedAt, table.Key.ExpiresAt = 0, 1
	_, err = check(a, foreign)
	wants(t, err, problem.KeyExpired)
	table.Key.Hash[31]++ // a row of another text
	_, err = check(a, foreign)
	wants(t, err, problem.InvalidCredentials)
	table.Key.ID = id.NoKey // there is no such row any more: the first row is read again
	_, err = check(a, foreign)
	wants(t, err, problem.InvalidCredentials)
	if table.Looked != 3 {
		t.Errorf("they were looked up %d times", table.Looked)
	}
}

// TestOnlyAForeignTextIsLookedUp: not a key of ours, which may be dead, nor a link's token or an access token; and no text at
// all in a deployment that accepts no imported keys.
func TestOnlyAForeignTextIsLookedUp(t *testing.T) {
	table := imported(t)
	ours, err := apikey.Mint("lk", id.Source{}.NewOrg(), id.Source{}.NewKey(time.Now()), nil)
	link, errLink := secret.Mint(secret.LinkPrefix, [16]byte{1}, [16]byte{1}, nil)
	if err := errors.Join(err, errLink); err != nil {
		t.Fatal(err)
	}
	a := taking(table, func(context.Context, string) error { t.Error("the fallback was asked"); return nil }, 1)
	for text, code := range map[string]problem.Code{
		ours.Key.Reveal(): problem.InvalidCredentials, link.Text.Reveal(): problem.InvalidCredentials, jwt: problem.APIKeyRequired,
	} {
		table.Imports[apikey.HashOf(text)] = store.Imported{Org: table.Key.OrgID, Key: table.Key.ID}
		_, err := check(a, text)
		wants(t, err, code)
	}
	_, err = check(authn.New(table, nil), foreign)
	wants(t, err, problem.InvalidCredentials)
	if table.Looked != 0 {
		t.Errorf("it was looked up %d times", table.Looked)
	}
}

func TestATextThatWasNotImportedIsLookedUpEachTime(t *testing.T) {
	table := imported(t)
	imports := table.Imports
	table.Imports = nil
	a := taking(table, nil, 0)
	_, err := check(a, foreign)
	wants(t, err, problem.InvalidCredentials)
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

// TestTheFallbackMayOnlyImport: without an error a key is not yet good, and an error is never a refusal.
func TestTheFallbackMayOnlyImport(t *testing.T) {
	table := imported(t)
	imports := table.Imports
	refusal := problem.New(problem.InvalidCredentials, "of another system")
	for name, c := range map[string]struct {
		imports map[apikey.Hash]store.Imported // by the fallback
		err     error
		code    problem.Code // ""; the check is good
	}{
		"it imports":        {imports, nil, ""},
		"it knows no key":   {nil, nil, problem.InvalidCredentials},
		"it cannot look":    {nil, refusal, "fault"},
		"it fails later on": {imports, refusal, "fault"},
	} {
		table.Imports = nil
		asked := 0
		a := taking(table, func(_ context.Context, text string) error {
			asked++
			if text != foreign {
				t.Errorf("%s: asked for %q", name, text)
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
		if asked != 1 {
			t.Errorf("%s: asked %d times", name, asked)
		}
	}
	table.Imports, table.Key.ID = imports, id.NoKey // imported once, and gone since
	_, err := check(taking(table, func(context.Context, string) error { t.Error("asked for a text that was imported"); return nil }, 1), foreign)
	wants(t, err, problem.InvalidCredentials)
}

// looks is a table of one imported key, with the answer of each look for a text, in order.
type looks struct {
	*authntest.Table
	answers []string // no, yes, away
}

func (l *looks) Imported(ctx context.Context, h apikey.Hash) (at store.Imported, ok bool, err error) {
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

// TestTheFallbackIsAskedOnlyWhenItIsNeeded, and its place is free afterwards: there is one place for all of these checks.
func TestTheFallbackIsAskedOnlyWhenItIsNeeded(t *testing.T) {
	type answered struct {
		result string
		asked  int
		unused int // answers of the table
	}
	for name, c := range map[string]struct {
		answers string // of the table
		want    answered
	}{
		"imported_by_the_fallback": {"no no yes", answered{"good", 1, 0}},
		"imported_while_it_waits":  {"no yes", answered{"good", 0, 0}},
		"unknown_to_the_fallback":  {"no no no", answered{"refused", 1, 0}},
		"away_at_first":            {"away", answered{"fault", 0, 0}},
		"away_while_it_waits":      {"no away", answered{"fault", 0, 0}},
		"away_after_the_fallback":  {"no no away", answered{"fault", 1, 0}},
	} {
		table := &looks{Table: imported(t)}
		asked := 0
		a := taking(table, func(context.Context, string) error { asked++; return nil }, 1)
		try := func(text, answers string) answered {
			table.answers, asked = strings.Fields(answers), 0
			table.Key.Hash = apikey.HashOf(text) // of a text that is not remembered
			table.Imports = map[apikey.Hash]store.Imported{table.Key.Hash: {Org: table.Key.OrgID, Key: table.Key.ID}}
			_, err := check(a, text)
			result := "good"
			if errors.Is(err, errAway) {
				result = "fault"
			} else if err != nil {
				result = "refused"
			}
			return answered{result, asked, len(table.answers)}
		}
		if got := try("sk_live_"+name, c.answers); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if got := try("sk_live_after", "no no yes"); got != (answered{"good", 1, 0}) {
			t.Errorf("after %s: %v, and not asked for another text", name, got)
		}
	}
}

// TestAFallbackThatPanicsIsAFault tries each way in which a fallback does not return. The error names no part of the text,
// and the places of the failed calls are free again.
func TestAFallbackThatPanicsIsAFault(t *testing.T) {
	for name, fallback := range map[string]func(text string){
		"a slice":             func(text string) { _ = text[:len(text)+1] },
		"an index":            func(text string) { _ = strings.Split(text, ".")[3] },
		"a nil map":           func(text string) { map[string]bool(nil)[text] = true }, //nolint:govet,staticcheck // the fault of an owner
		"a nil pointer":       func(string) { _ = (*store.APIKey)(nil).ID },            //nolint:govet // the same
		"a type":              func(text string) { _, _ = any(text).(int), any(text).(error) },
		"a key of a map":      func(text string) { _ = map[any]bool{}[[]string{text}] },
		"the text":            func(text string) { panic(text) },
		"an error with it":    func(text string) { panic(fmt.Errorf("no row of %s", text)) },
		"a struct with it":    func(text string) { panic(struct{ key string }{text}) },
		"an error as runtime": func(text string) { panic(fmt.Errorf("%w", errors.New(text))) },
		"nil":                 func(string) { panic(nil) }, //nolint:govet // what an owner may write
		"Goexit":              func(string) { runtime.Goexit() },
		"a panic in a defer":  func(text string) { defer func() { panic(text) }(); panic("first") },
	} {
		t.Run(name, func(t *testing.T) {
			a := taking(none{}, func(_ context.Context, text string) error { fallback(text); return nil }, 1)
			for range 3 { // with one place
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

// TestAnErrorOfTheFallbackShowsItsCauseOrTypes, and never the text of the key, however the error spells it.
func TestAnErrorOfTheFallbackShowsItsCauseOrTypes(t *testing.T) {
	const text = `sk_live+/"45b2%ü`
	refused := &url.Error{Op: "Get", URL: "http://127.0.0.1:1/keys?key=" + url.QueryEscape(text), Err: syscall.ECONNREFUSED}
	for name, c := range map[string]struct {
		err  error
		want string // behind authn: the fallback:
	}{
		"an address":         {refused, "connection refused"},
		"a wrapped address":  {fmt.Errorf("earlier: %w", refused), "connection refused"},
		"joined errors":      {errors.Join(errors.New(text), refused), "connection refused"},
		"quoted":             {fmt.Errorf("no row of %q", text), "an error of the type *errors.errorString"},
		"hex":                {fmt.Errorf("no row of %x", text), "an error of the type *errors.errorString"},
		"base64":             {errors.New(base64.URLEncoding.EncodeToString([]byte(text))), "an error of the type *errors.errorString"},
		"backwards":          {errors.New("ü%2b54\"/+evil_ks"), "an error of the type *errors.errorString"},
		"a refusal of ours":  {problem.New(problem.InvalidCredentials, text), "an error of the type *problem.Error"},
		"nothing in its nil": {(*url.Error)(nil), "panic at url.go:"},
	} {
		_, err := check(taking(none{}, func(context.Context, string) error { return c.err }, 1), text)
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

// TestAHangingFallbackHoldsUpItsOwnTextsOnly: two calls hang whatever the context says, a third waits for its place, and all
// three fail when their time is over.
func TestAHangingFallbackHoldsUpItsOwnTextsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		var called atomic.Int32
		a := taking(none{}, func(context.Context, string) error {
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
		wants(t, err, problem.InvalidCredentials) // the places are free again
	})
}
