package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/standin"
	"latchkey/infra/tools"
)

// TestATrialRemovesWhatHasItsTag fills an account with things of trials and with things of others, some with names like a trial's.
func TestATrialRemovesWhatHasItsTag(t *testing.T) {
	t.Parallel()
	sam, err := tools.SAM(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t.Context())
	defer h.Close()
	h.Put("tagged", "CREATE_COMPLETE", nil)
	h.Tag("tagged", "latchkey-trial", "tagged")
	h.Put("latchkey-trial-bus-1", "CREATE_COMPLETE", nil) // no trial makes such a name
	h.Tag("latchkey-trial-bus-1", "latchkey-trial", "latchkey-trial-bus-1")
	h.Settle(true)
	for _, name := range []string{"latchkey-trial-def567", "latchkey-trial-qqq222", "renamed"} {
		tags := map[string]string{"latchkey-trial": name}
		for n := range 20 { // a thing is found by one of its tags, wherever in their list it is
			tags[fmt.Sprint("team", n)] = "payments"
		}
		h.Leave(name, tags)
	}
	h.Put("latchkey-trial-bbb222", "CREATE_COMPLETE", nil) // without parameters, as the stack beside a trial's
	h.Tag("latchkey-trial-bbb222", "latchkey-trial", "latchkey-trial-bbb222")
	tr := &trial{root: t.TempDir(), dir: t.TempDir(), out: t.Output(), local: true, sam: sam, account: standin.Account}
	if tr.aws, err = cloud.New(t.Context(), cloud.Python(sam), h.env, "eu-central-1"); err != nil {
		t.Fatal(err)
	}
	object := cloud.Params{"Bucket": "aws-sam-cli-managed-default-bucket-1", "Key": "latchkey-trial-def567/1"}
	for _, call := range []string{"put_object", "delete_object"} { // sam delete deletes so, and leaves a marker
		if err := tr.aws.Call("s3", call, object, nil); err != nil {
			t.Fatal(err)
		}
	}
	if left := h.Left(); !slices.ContainsFunc(left, func(name string) bool { return strings.Contains(name, "delete marker of aws-sam") }) {
		t.Fatalf("no delete marker in %q", left)
	}
	builds := filepath.Join(tr.root, ".local", "deploy")
	for _, path := range []string{filepath.Join(builds, "shop"), filepath.Join(builds, "latchkey-trial-def567"), tr.ownBucket()} { // the trial had the bucket made
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, harmed := h.Left(), h.Harmed(); left != nil || harmed != nil {
		t.Errorf("left: %q; things of others: %q", left, harmed)
	}
	if left, err := os.ReadDir(builds); err != nil || len(left) != 1 {
		t.Errorf("left of the builds: %v, %v", left, err)
	}
}
