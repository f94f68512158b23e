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

// settle is longer than the API works on a request: what was begun before a moment is visible, or has failed, so long after it.
const settle = time.Minute

// customer is an org.
type customer struct {
	ID, Name    string
	SuspendedAt int64 // milliseconds; 0: it is not suspended
}

// walk is a run over orgs, several at a time.
type walk struct {
	*cli
	journal
	isDry bool // nothing is changed
}

func newWalk(c *cli, run entry) (w *walk, err error) {
	c.patient, run.API = true, c.base
	w = &walk{c, journal{run: run, orgs: map[string]entry{}}, c.flags["yes"] == ""}
	if path := cmp.Or(c.flags["from"], c.flags["state"]); path != "" {
		err = w.open(path, run)
	}
	return w, err
}

// visit does the work of an org. known is what the journal has. It returns what is so then, or the error org_not_found.
type visit func(ctx context.Context, o customer, known entry) (entry, error)

// all visits each org of the list, from the position on, unless all is done for it. The list has 16 parts, each by id, which is random: an
// org that is made meanwhile may land before the position. No org moves, so all meets each org that was there when it began.
func (w *walk) all(ctx context.Context, do visit) error {
	for {
		var list struct {
			Orgs       []customer
			NextCursor string
		}
		if _, err := w.call(ctx, "GET", after(w.at.Cursor, "/v1/orgs"), nil, &list); err != nil {
			return err
		}
		isOver := func(o customer) bool { e := w.orgs[o.ID]; return e.Do != "" && e.Do != tried }
		if err := w.each(ctx, slices.DeleteFunc(list.Orgs, isOver), do); err != nil {
			return err
		}
		if err := w.add(entry{Do: page, Cursor: list.NextCursor}); err != nil || list.NextCursor == "" {
			return err
		}
	}
}

func (w *walk) each(ctx context.Context, orgs []customer, do visit) error {
	return cmp.Or(parallel.Each(8, orgs, func(_ int, o customer) error {
		e, err := do(ctx, o, w.of(o.ID))
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

// report prints a text with the numbers of the orgs that are so, and of their keys.
func (w *walk) report(text string) error {
	counts := map[string]int{}
	for _, e := range w.orgs {
		counts[e.Do]++
		counts["keys of "+e.Do] += len(e.Keys)
	}
	if w.isDry {
		text += " Nothing was changed: this needs --yes."
	}
	_, err := fmt.Println(os.Expand(text, func(name string) string { return strconv.Itoa(counts[name]) }))
	return err
}

// after returns the path of a page: the first for no cursor.
func after(cursor, path string) string {
	return strings.TrimSuffix(path+"?limit=100&cursor="+cursor, "&cursor=")
}

// settled waits until no request that was begun before a moment is worked on, by the API's clock, and returns the time.
func (c *cli) settled(ctx context.Context, moment int64) (time.Time, error) {
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

// revokeAll revokes the keys of every org that were made before a moment. It begins a minute later, so that each such key is in the list
// of its org, and the org in the list of all: one walk is enough.
func revokeAll(ctx context.Context, c *cli) error {
	before, err := time.Parse(time.RFC3339, c.flags["made-before"])
	if err != nil {
		return errors.New("--made-before is a time as 2026-11-29T12:00:00Z")
	}
	w, err := newWalk(c, entry{Do: "revoke", At: before.UnixMilli()})
	if err == nil && w.run.At != before.UnixMilli() {
		err = fmt.Errorf("this is the run for keys that were made before %s", stamp(w.run.At))
	}
	if err == nil && !w.isDry {
		_, err = w.settled(ctx, w.run.At)
	}
	if err == nil && !w.isOver {
		err = w.all(ctx, w.revokeOf)
	}
	if err == nil {
		err = w.add(entry{Do: ended})
	}
	if err != nil {
		return err
	}
	did := map[bool]string{true: "are good", false: "are revoked"}[w.isDry]
	return w.report("${keys of done} keys of $done orgs " + did + ", made before " + stamp(w.run.At) + ". $left other orgs have none, and $gone are deleted.")
}

// revokeOf revokes the keys of an org, also of one whose deletion was cut short.
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

// goodKeys returns the keys of an org that were made before the moment of the run, and are neither revoked nor expired.
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
		now, err := w.call(ctx, "GET", after(cursor, orgPath(o)+"/keys"), nil, &list)
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

// suspendAll suspends every org. It walks again until a walk that began a minute after the run has met no org that was made meanwhile.
func suspendAll(ctx context.Context, c *cli) error {
	now, err := c.settled(ctx, 0)
	if err != nil {
		return err
	}
	w, err := newWalk(c, entry{Do: "suspend", At: now.UnixMilli()})
	for err == nil && !w.isOver {
		isWhole, known := w.at.Cursor == "" && now.Sub(time.UnixMilli(w.run.At)) >= settle, len(w.orgs)
		switch err = w.all(ctx, w.suspendOne); {
		case err != nil:
		case w.isDry || isWhole && len(w.orgs) == known:
			err = w.add(entry{Do: ended})
		default:
			now, err = w.settled(ctx, w.run.At)
		}
	}
	if err != nil {
		return err
	}
	did := map[bool]string{true: "to suspend", false: "suspended by this run"}[w.isDry]
	return w.report("$done orgs are " + did + ", $left were suspended before, and $gone are deleted.")
}

// suspendOne suspends an org. Its try whose answer was lost is told from a suspension by someone else by the time.
func (w *walk) suspendOne(ctx context.Context, o customer, known entry) (entry, error) {
	o.SuspendedAt = 0 // what the list had is older
	now, err := w.call(ctx, "GET", orgPath(o.ID), nil, &o)
	switch {
	case err != nil:
		return entry{}, err
	case o.SuspendedAt != 0 && !known.isOf(o):
		return entry{Do: left}, nil
	case w.isDry:
		say("%s  %s", o.ID, o.Name)
		return entry{Do: done}, nil
	case o.SuspendedAt == 0:
		if err := w.add(entry{Do: tried, Org: o.ID, At: now.UnixMilli()}); err != nil {
			return entry{}, err
		}
	}
	_, err = w.call(ctx, "POST", orgPath(o.ID)+"/suspension", struct{}{}, &o)
	return entry{Do: done, At: o.SuspendedAt}, err
}

// isOf reports whether the entry is of the suspension that an org has.
func (e entry) isOf(o customer) bool {
	return e.Do == done && o.SuspendedAt == e.At || e.Do == tried && o.SuspendedAt <= e.At+settle.Milliseconds()
}

// resumeFrom resumes the orgs that a run of suspendAll has suspended, unless someone has resumed and suspended them since.
func resumeFrom(ctx context.Context, c *cli) error {
	w, err := newWalk(c, entry{Do: "suspend"})
	if err != nil {
		return err
	}
	if w.isDry {
		return w.report("$done orgs were suspended by this run, and $try may be.")
	}
	var orgs []customer
	var last int64 // try whose answer was lost
	for o, e := range w.orgs {
		if e.Do == done || e.Do == tried {
			orgs = append(orgs, customer{ID: o})
		}
		if e.Do == tried {
			last = max(last, e.At)
		}
	}
	if err := w.add(entry{Do: ended}); err != nil { // it must not go on
		return err
	}
	if _, err := w.settled(ctx, last); err != nil {
		return err
	}
	if err := w.each(ctx, orgs, w.resumeOne); err != nil {
		return err
	}
	return w.report("$resumed orgs are resumed, $kept were suspended anew by someone else, and $gone are deleted.")
}

// resumeOne resumes an org. One that is not suspended may have keys that are still refused, after an answer 503.
func (w *walk) resumeOne(ctx context.Context, o customer, known entry) (entry, error) {
	if _, err := w.call(ctx, "GET", orgPath(o.ID), nil, &o); err != nil {
		return entry{}, err
	}
	if o.SuspendedAt != 0 && !known.isOf(o) {
		return entry{Do: kept}, nil
	}
	_, err := w.call(ctx, "DELETE", orgPath(o.ID)+"/suspension", nil, nil)
	if known.Do == tried && o.SuspendedAt == 0 {
		return entry{Do: left}, err // the try had not arrived
	}
	return entry{Do: resumed}, err
}
