package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"latchkey/pkg/parallel"
	"latchkey/pkg/problem"
)

// settle is longer than the API works on a request: once it has passed, each request that began before is done or has failed.
const settle = time.Minute

// customer is an org.
type customer struct {
	ID, Name    string
	State       string // as the list has it
	SuspendedAt int64  // milliseconds; 0: it is not suspended
}

// walk is a run over orgs, several at a time.
type walk struct {
	*cli
	journal
	isDry bool // the run changes nothing, because --yes is missing
}

func newWalk(c *cli, run entry) (w *walk, err error) {
	c.patient, run.API = true, c.base
	w = &walk{c, journal{run: run}, c.flags["yes"] == ""}
	if path := cmp.Or(c.flags["from"], c.flags["state"]); path != "" {
		err = w.open(path, run)
	}
	return w, err
}

// visit does the work of an org. known is the org's entry in the journal. visit returns the new entry. Error: org_not_found.
type visit func(ctx context.Context, o customer, known entry) (entry, error)

// visitList visits the orgs of the list, from the position on, and skips the finished ones. The list has 16 parts, each in the order
// of ids. Ids are random, so a new org may land before the position. No org moves in the list, so visitList reaches each org that
// existed at its start.
func (w *walk) visitList(ctx context.Context, do visit) error {
	for {
		var list struct {
			Orgs       []customer
			NextCursor string
		}
		if _, err := w.call(ctx, "GET", pagePath(w.at.Cursor, "/v1/orgs"), nil, &list); err != nil {
			return err
		}
		isOver := func(o customer) bool { return !slices.Contains([]string{"", tried, closing}, w.orgs[o.ID].Do) }
		if err := w.visitOrgs(ctx, slices.DeleteFunc(list.Orgs, isOver), do); err != nil {
			return err
		}
		if err := w.add(entry{Do: page, Cursor: list.NextCursor}); err != nil || list.NextCursor == "" {
			return err
		}
	}
}

// visitOrgs visits eight orgs at a time, and adds the new entries to the journal.
func (w *walk) visitOrgs(ctx context.Context, orgs []customer, do visit) error {
	return cmp.Or(parallel.Each(8, orgs, func(_ int, o customer) error {
		e, err := do(ctx, o, w.entryOf(o.ID))
		if problem.Is(err, problem.OrgNotFound) {
			e, err = entry{Do: gone}, nil
		}
		if err != nil {
			return err
		}
		e.Org = o.ID
		return w.add(e)
	})...)
}

// counted returns a text with numbers: $left becomes the number of orgs in the state "left", and ${keys of left} the number of their keys.
// It adds how many orgs are being deleted.
func (w *walk) counted(text string) string {
	counts := map[string]int{}
	for _, e := range w.orgs {
		counts[e.Do]++
		counts["keys of "+e.Do] += len(e.Keys)
	}
	if counts[closing] > 0 {
		text += " $closing are being deleted, and their keys may work: delete them again."
	}
	return os.Expand(text, func(name string) string { return strconv.Itoa(counts[name]) })
}

// report prints a text with numbers.
func (w *walk) report(text string) error {
	text = w.counted(text)
	if w.isDry {
		text += " Nothing was changed: this needs --yes."
	}
	_, err := fmt.Println(text)
	return err
}

// pagePath returns the path of the page at a cursor; "": the first page.
func pagePath(cursor, path string) string {
	return strings.TrimSuffix(path+"?limit=100&cursor="+cursor, "&cursor=")
}

// waitUntilSettled waits until all requests that began before a moment have ended. It returns the time of the API's clock.
func (c *cli) waitUntilSettled(ctx context.Context, moment int64) (time.Time, error) {
	for {
		now, err := c.call(ctx, "GET", "/v1/orgs?limit=1", nil, nil)
		wait := time.UnixMilli(moment).Add(settle).Sub(now)
		if err != nil || wait <= 0 {
			return now, err
		}
		say("Waiting for %s: requests from before %s may be under way.", wait.Round(time.Second), stamp(moment))
		if err := sleep(ctx, wait); err != nil {
			return now, err
		}
	}
}

func stamp(at int64) string { return time.UnixMilli(at).UTC().Format(time.RFC3339Nano) }

func orgPath(o string) string { return "/v1/orgs/" + url.PathEscape(o) }

// revokeAll revokes the keys of every org that were made before a moment. It begins at least a minute after the moment: then the
// lists have each such key and its org, and one walk is enough.
func revokeAll(ctx context.Context, c *cli) error {
	before, err := time.Parse(time.RFC3339, c.flags["made-before"])
	if err != nil {
		return errors.New("--made-before must be a time such as 2026-11-29T12:00:00Z")
	}
	w, err := newWalk(c, entry{Do: "revoke", At: before.UnixMilli()})
	if err == nil && w.run.At != before.UnixMilli() {
		err = fmt.Errorf("the file has a run for keys that were made before %s", stamp(w.run.At))
	}
	if err == nil && !w.isDry {
		_, err = w.waitUntilSettled(ctx, w.run.At)
	}
	if err == nil && !w.isOver {
		err = w.visitList(ctx, w.revokeOf)
	}
	if err == nil {
		err = w.add(entry{Do: ended})
	}
	if err != nil {
		return err
	}
	state := map[bool]string{true: "are good", false: "are revoked"}[w.isDry]
	return w.report("${keys of done} keys of $done orgs " + state + ", made before " + stamp(w.run.At) + ". $left other orgs have none, and $gone are deleted.")
}

// revokeOf revokes the keys of an org, also of an org whose deletion did not finish.
func (w *walk) revokeOf(ctx context.Context, o customer, known entry) (entry, error) {
	good, err := w.goodKeys(ctx, o.ID)
	if err != nil {
		return entry{}, err
	}
	switch {
	case len(good)+len(known.Keys) == 0:
		return entry{Do: left}, nil
	case w.isDry:
		say("%s  %d keys  %s", o.ID, len(good), o.Name)
		return entry{Do: done, Keys: good}, nil
	}
	if err := w.add(entry{Do: tried, Org: o.ID, Keys: good}); err != nil {
		return entry{}, err
	}
	for _, k := range good {
		if _, err := w.call(ctx, "DELETE", orgPath(o.ID)+"/keys/"+url.PathEscape(k), nil, nil); err != nil && !problem.Is(err, problem.KeyNotFound) {
			return entry{}, err
		}
	}
	return entry{Do: done}, nil
}

// goodKeys returns the ids of an org's keys that were made before the moment of the run, and are neither revoked nor expired.
func (w *walk) goodKeys(ctx context.Context, o string) (good []string, err error) {
	for cursor := ""; ; {
		var list struct {
			Keys []struct {
				ID                   string
				CreatedAt            int64
				RevokedAt, ExpiresAt *int64
			}
			NextCursor string
		}
		now, err := w.call(ctx, "GET", pagePath(cursor, orgPath(o)+"/keys"), nil, &list)
		if err != nil {
			return nil, err
		}
		for _, k := range list.Keys {
			isOver := k.RevokedAt != nil || k.ExpiresAt != nil && *k.ExpiresAt < now.Add(-settle).UnixMilli()
			if k.CreatedAt < w.run.At && !isOver {
				good = append(good, k.ID)
			}
		}
		if cursor = list.NextCursor; cursor == "" {
			return good, nil
		}
	}
}

// suspendAll suspends every org. It repeats the walk until a whole walk, begun at least a minute after the run, meets no new org. It
// refuses the file of a run that has ended, because its orgs may work again.
func suspendAll(ctx context.Context, c *cli) error {
	now, err := c.waitUntilSettled(ctx, 0) // only reads the API's clock: the moment 0 is long ago
	if err != nil {
		return err
	}
	w, err := newWalk(c, entry{Do: "suspend", At: now.UnixMilli()})
	switch {
	case err == nil && w.isOver:
		did := w.counted("it has suspended $done orgs, and $resumed others are resumed.")
		err = fmt.Errorf("the run of %s in %s has ended: %s Use another file for a new run", stamp(w.run.At), c.flags["state"], did)
	case err == nil && w.run.At != now.UnixMilli():
		say("This continues the run of %s. It does not look again at the orgs that it has suspended.", stamp(w.run.At))
	}
	for err == nil && !w.isOver {
		isWhole, known := w.at.Cursor == "" && now.Sub(time.UnixMilli(w.run.At)) >= settle, len(w.orgs)
		switch err = w.visitList(ctx, w.suspendOne); {
		case err != nil:
		case w.isDry || isWhole && len(w.orgs) == known:
			err = w.add(entry{Do: ended})
		default:
			now, err = w.waitUntilSettled(ctx, w.run.At)
		}
	}
	if err != nil {
		return err
	}
	state := map[bool]string{true: "to suspend", false: "suspended by this run"}[w.isDry]
	return w.report("$done orgs are " + state + ", $left were suspended before, and $gone are deleted.")
}

// errOthers means that someone else has suspended an org.
var errOthers = errors.New("suspended by someone else")

// look reads an org before a try, and returns the time of the API's clock. Error: errOthers for a suspension that is not of this run.
func (w *walk) look(ctx context.Context, o *customer) (now time.Time, err error) {
	o.SuspendedAt = 0 // the value from the list, or from an earlier try, may be out of date; the call sets the present one
	now, err = w.call(ctx, "GET", orgPath(o.ID), nil, o)
	if err == nil && o.SuspendedAt != 0 && !w.entryOf(o.ID).caused(*o) {
		err = errOthers
	}
	return now, err
}

// suspendOne suspends an org. After a lost answer, the time of the suspension shows whether this run or someone else suspended it. So the
// journal gets the time of each try. An org that someone else has suspended gets a request too: theirs may have been cut short, and then
// some keys are still good.
func (w *walk) suspendOne(ctx context.Context, o customer, _ entry) (entry, error) {
	suspend, others := w.client, int64(0) // others: the time of their suspension, as first read; a later one is of this run
	suspend.before = func(ctx context.Context) error {
		now, err := w.look(ctx, &o)
		if errors.Is(err, errOthers) && !w.isDry {
			others, err = cmp.Or(others, o.SuspendedAt), nil
		}
		if err != nil || o.SuspendedAt != 0 || w.isDry {
			return err
		}
		return w.add(entry{Do: tried, Org: o.ID, At: now.UnixMilli()})
	}
	var err error
	if w.isDry {
		err = suspend.before(ctx)
	} else {
		_, err = suspend.call(ctx, "POST", orgPath(o.ID)+"/suspension", struct{}{}, &o)
	}
	isClosing := w.isDry && o.State == "deleted"
	if problem.Is(err, problem.OrgNotFound) { // an org whose deletion has begun can still be read
		_, err = w.look(ctx, &o)
		isClosing = true
	}
	switch {
	case errors.Is(err, errOthers), err == nil && others != 0 && o.SuspendedAt == others:
		return entry{Do: left}, nil
	case err == nil && isClosing:
		say("%s  is being deleted  %s", o.ID, o.Name)
		return entry{Do: closing}, nil
	case err == nil && w.isDry:
		say("%s  %s", o.ID, o.Name)
	}
	return entry{Do: done, At: o.SuspendedAt}, err
}

// caused reports whether the request of this entry made the org's present suspension.
func (e entry) caused(o customer) bool {
	return e.Do == done && o.SuspendedAt == e.At || e.Do == tried && o.SuspendedAt <= e.At+settle.Milliseconds()
}

// resumeFrom resumes the orgs that a run of suspendAll has suspended, except those that someone resumed and suspended again.
func resumeFrom(ctx context.Context, c *cli) error {
	w, err := newWalk(c, entry{Do: "suspend"}) // without At, so that the file must exist
	if err != nil {
		return err
	}
	if w.isDry {
		return w.report("$done orgs were suspended by this run, and $try may be.")
	}
	var orgs []customer
	var last int64 // the time of the last try without an answer
	for o, e := range w.orgs {
		if e.Do == done || e.Do == tried {
			orgs = append(orgs, customer{ID: o})
		}
		if e.Do == tried {
			last = max(last, e.At)
		}
	}
	if err := w.add(entry{Do: ended}); err != nil { // so that the run of suspendAll cannot continue
		return err
	}
	if _, err := w.waitUntilSettled(ctx, last); err != nil {
		return err
	}
	if err := w.visitOrgs(ctx, orgs, w.resumeOne); err != nil {
		return err
	}
	return w.report("$resumed orgs are resumed, $kept were suspended again by someone else, and $gone are deleted.")
}

// resumeOne resumes an org. It also sends the request for an org that is not suspended: after an answer 503 the org's keys may
// still be refused.
func (w *walk) resumeOne(ctx context.Context, o customer, known entry) (entry, error) {
	isOurs, resume := false, w.client
	resume.before = func(ctx context.Context) error {
		_, err := w.look(ctx, &o)
		isOurs = isOurs || o.SuspendedAt != 0
		return err
	}
	_, err := resume.call(ctx, "DELETE", orgPath(o.ID)+"/suspension", nil, nil)
	switch {
	case errors.Is(err, errOthers):
		return entry{Do: kept}, nil
	case known.Do == tried && !isOurs:
		return entry{Do: left}, err // the API did not get the try
	}
	return entry{Do: resumed}, err
}
