package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/local/stack"
)

// note keeps the answer to an action on a target. The audit log must have an entry if the action was done, may have one if the
// answer is unsure, and must have none otherwise.
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

// checkAudit compares the audit log of an org with the actions that note has kept. The org must exist.
func (h *history) checkAudit(org string) {
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
			h.violate("the audit log has %s %d times; it was done %d times, and perhaps %d times more", what, n, e.surely, e.maybe)
		}
		delete(found, what)
	}
	for what, n := range found {
		h.violate("the audit log has %s %d times, and it was never done", what, n)
	}
}

// checkCounters compares the counters of an org with its rows. Late calls may still change both, so it compares up to ten times.
func (h *history) checkCounters(org string) {
	var faults []string
	for range 10 {
		if faults = h.wrongCounters(org); len(faults) == 0 {
			return
		}
		time.Sleep(300 * time.Millisecond)
	}
	for _, fault := range faults {
		h.violate("counters of %s: %s", org, fault)
	}
}

// wrongCounters returns the counters of an org that differ from its rows.
func (h *history) wrongCounters(org string) (faults []string) {
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
	return append(faults, h.wrongActiveKeys(org)...)
}

// wrongActiveKeys compares the map of active keys with the rows of the keys.
func (h *history) wrongActiveKeys(org string) (faults []string) {
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
			continue // an expired key stays in the map until its place is needed
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

// rows returns the rows of a partition; "": all rows of the table.
func (h *history) rows(pk string) []stack.Row {
	rows, err := h.Rows(h.ctx, pk)
	if err != nil {
		h.violate("the table was not read: %v", err)
	}
	return rows
}

// textOf returns the text of a string or number attribute, or "".
func textOf(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}
