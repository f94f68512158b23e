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

// TestATrialRemovesOnlyTaggedResources fills an account with resources of trials and of others. Some of the others have names like a
// trial's.
func TestATrialRemovesOnlyTaggedResources(t *testing.T) {
	t.Parallel()
	sam, err := tools.SAM(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t.Context())
	defer h.Close()
	h.Put("tagged", "CREATE_COMPLETE", nil)
	h.Tag("tagged", "latchkey-trial", "tagged")
	h.Put("latchkey-trial-bus-1", "CREATE_COMPLETE", nil) // trials do not make such names
	h.Tag("latchkey-trial-bus-1", "latchkey-trial", "latchkey-trial-bus-1")
	h.Settle(true)
	for _, name := range []string{"latchkey-trial-def567", "latchkey-trial-qqq222", "renamed"} {
		tags := map[string]string{"latchkey-trial": name}
		for n := range 20 { // the trials' tag may be at any place in the list of tags
			tags[fmt.Sprint("team", n)] = "payments"
		}
		h.Leave(name, tags)
	}
	h.Put("latchkey-trial-bbb222", "CREATE_COMPLETE", nil) // without parameters, like a companion stack
	h.Tag("latchkey-trial-bbb222", "latchkey-trial", "latchkey-trial-bbb222")
	tr := &trial{root: t.TempDir(), dir: t.TempDir(), out: t.Output(), local: true, sam: sam, account: standin.Account}
	if tr.aws, err = cloud.New(t.Context(), cloud.Python(sam), h.env, "eu-central-1"); err != nil {
		t.Fatal(err)
	}
	object := cloud.Params{"Bucket": "aws-sam-cli-managed-default-bucket-1", "Key": "latchkey-trial-def567/1"}
	for _, call := range []string{"put_object", "delete_object"} { // like sam delete, which leaves a delete marker
		if err := tr.aws.Call("s3", call, object, nil); err != nil {
			t.Fatal(err)
		}
	}
	if left := h.Left(); !slices.ContainsFunc(left, func(name string) bool { return strings.Contains(name, "delete marker of aws-sam") }) {
		t.Fatalf("no delete marker in %q", left)
	}
	builds := filepath.Join(tr.root, ".local", "deploy")
	for _, path := range []string{filepath.Join(builds, "shop"), filepath.Join(builds, "latchkey-trial-def567"), tr.ownBucket()} { // as if the bucket was made for the trial
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, harmed := h.Left(), h.Harmed(); left != nil || harmed != nil {
		t.Errorf("not removed: %q; changed, of others: %q", left, harmed)
	}
	if left, err := os.ReadDir(builds); err != nil || len(left) != 1 {
		t.Errorf("builds after the removal: %v, %v", left, err)
	}
}
