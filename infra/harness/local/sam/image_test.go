package sam

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheStandInDoesNotTakeThePublishedName has a docker that cannot pull, and knows only the images that were imported.
func TestTheStandInDoesNotTakeThePublishedName(t *testing.T) {
	if _, err := os.Stat(busybox); err != nil {
		t.Skip(err)
	}
	const docker = `#!/bin/sh
echo "$*" >>"$0.calls"
case "$1" in
pull) exit 1 ;;
image) grep -q "^import .* - $3\$" "$0.calls" ;;
esac
`
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "docker"), []byte(docker), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	for range 2 { // the second time the stand-in is here
		arguments, err := ensureImage(t.Context(), func(string) {})
		if err != nil || len(arguments) != 2 || strings.HasPrefix(arguments[1], "public.ecr.aws/") {
			t.Errorf("%q, %v", arguments, err)
		}
	}
	calls, err := os.ReadFile(filepath.Join(folder, "docker.calls"))
	if all := string(calls); err != nil || strings.Count(all, "import ") != 1 || strings.Count(all, "pull ") != 2 || strings.Contains(all, " - public.ecr.aws/") {
		t.Errorf("%s, %v", all, err)
	}
}
