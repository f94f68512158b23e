package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/local/stack"
)

// note notes that an action on a target was answered: its audit entry must be there once if it was done, may be there if the
// answer is unsure, and must not be there otherwise.
func (h *history) note(action, target string, r reply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.actions[action] = true
	e := h.did[action+" "+target]
	if e == nil {
		e = &effects{}
		h.did[action+" "+target] = e
	}
	switch {
	case r.ok():
		e.surely++
	case r.unsure():
		e.maybe++
	}
}

// audited compares the audit log of the history's orgs with what was done. It wants an org that is there.
func (h *history) audited(org string) {
	found := map[string]int{}
	for cursor := ""; ; {
		r := h.must(request{method: "GET", path: "/v1/orgs/" + org + "/audit?limit=100" + cursor, bearer: h.billing}, "", "")
		for _, e := range r.list("entries") {
			target, _ := e["target"].(map[string]any)
			if action := fmt.Sprint(e["action"]); h.actions[action] {
				found[action+" "+fmt.Sprint(target["id"])]++
			}
		}
		next := r.str("nextCursor")
		if next == "" {
			break
		}
		cursor = "&cursor=" + next
	}
	for what, e := range h.did {
		if n := found[what]; n < e.surely || n > e.surely+e.maybe {
			h.violate("audit: %s is there %d times; it was done %d times, and perhaps %d times more", what, n, e.surely, e.maybe)
		}
		delete(found, what)
	}
	for what, n := range found {
		h.violate("audit: %s is there %d times, and was never done", what, n)
	}
}

// counted compares the counters of an org with its rows. Tries that arrive late may still change both, so it looks again.
func (h *history) counted(org string) {
	var faults []string
	for range 10 {
		if faults = h.miscounted(org); len(faults) == 0 {
			return
		}
		time.Sleep(300 * time.Millisecond)
	}
	for _, w := range faults {
		h.violate("counters of %s: %s", org, w)
	}
}

func (h *history) miscounted(org string) (faults []string) {
	counts := map[string]int{}
	var meta stack.Row
	for _, row := range h.rows("ORG#" + org) {
		sk := textOf(row["SK"])
		if sk == "META" {
			meta = row
		}
		kind, _, _ := strings.Cut(sk, "#")
		counts[kind]++
		if textOf(row["role"]) == "admin" {
			counts["admins"]++
		}
	}
	for counter, kind := range map[string]string{"members": "MEM", "apps": "APP", "admins": "admins"} {
		if has := textOf(meta[counter]); has != "" && has != strconv.Itoa(counts[kind]) {
			faults = append(faults, fmt.Sprintf("%s is %s, and there are %d rows", counter, has, counts[kind]))
		}
	}
	if h.rowsWritten {
		return faults
	}
	return append(faults, h.miscountedKeys(org)...)
}

// miscountedKeys compares the map of active keys with the keys.
func (h *history) miscountedKeys(org string) (faults []string) {
	live, active := map[string]bool{}, 0
	now := time.Now().UnixMilli()
	keys := h.rows("KEYS#" + org)
	for _, row := range keys {
		if m, ok := row["live"].(*types.AttributeValueMemberM); ok {
			for id := range m.Value {
				live[id] = true
			}
		}
	}
	for _, row := range keys {
		id, isKey := strings.CutPrefix(textOf(row["SK"]), "KEY#")
		expires, _ := strconv.ParseInt(textOf(row["expiresAt"]), 10, 64)
		if !isKey || row["revokedAt"] != nil || row["rotatedTo"] != nil {
			continue
		}
		if expired := expires != 0 && expires < now; expired && !live[id] {
			continue // an expired key may be in the map, until there is no more room
		}
		active++
		if !live[id] {
			faults = append(faults, "the active key "+id+" is not in the map of active keys")
		}
	}
	if len(live) != active {
		faults = append(faults, fmt.Sprintf("%d keys are in the map of active keys, and %d are active", len(live), active))
	}
	return faults
}

// rows returns the rows of a partition, or of the table.
func (h *history) rows(pk string) []stack.Row {
	rows, err := h.Rows(h.ctx, pk)
	if err != nil {
		h.violate("the table was not read: %v", err)
	}
	return rows
}

// textOf returns a text or a number as text, or "".
func textOf(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}
