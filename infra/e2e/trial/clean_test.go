package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/standin"
	"latchkey/infra/tools"
)

// TestATrialRemovesWhatHasItsTag leaves things of trials in an account, and things of others with names like those of a trial.
func TestATrialRemovesWhatHasItsTag(t *testing.T) {
	t.Parallel()
	sam, err := tools.SAM(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t.Context())
	defer h.Close()
	for _, name := range []string{"latchkey-trial-eu", "latchkey-trial-abc234", "latchkey-trial", "latchkey-trial-"} {
		h.Leave(name, map[string]string{"team": "payments"})
	}
	h.Leave("other", nil)
	h.Put("latchkey-trial-zzz777", "CREATE_COMPLETE", nil)
	h.Put("latchkey-trial-eu", "CREATE_COMPLETE", nil)
	h.Put("latchkey-trial-yyy777", "REVIEW_IN_PROGRESS", nil)
	h.Put("tagged", "CREATE_COMPLETE", nil)
	h.Tag("tagged", "latchkey-trial", "tagged")
	others := h.Left()
	for _, name := range []string{"latchkey-trial-def567", "latchkey-trial-qqq222", "renamed"} {
		h.Leave(name, map[string]string{"latchkey-trial": name, "team": "payments"})
	}
	tr := &trial{root: t.TempDir(), dir: t.TempDir(), out: t.Output(), local: true, sam: sam, account: standin.Account}
	if tr.aws, err = cloud.New(t.Context(), cloud.Python(sam), h.env, "eu-central-1"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(tr.root, ".local", "deploy"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tr.clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := h.Left(); !slices.Equal(left, others) {
		t.Errorf("left:\n%s\nwanted:\n%s", strings.Join(left, "\n"), strings.Join(others, "\n"))
	}
}
