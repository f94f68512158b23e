// Command check refuses settings of `make deploy` that cannot work, before anything is installed or compiled.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"latchkey/infra/deploy/settings"
)

func main() {
	if err := check(".", os.LookupEnv); err != nil {
		fmt.Fprintln(os.Stderr, "latchkey:", err)
		os.Exit(1)
	}
}

// check checks each given value. If an issuer is given, as for a first deployment, check also checks the values together. A later
// deployment keeps deployed values, which are not known here. root is the repository's folder.
func check(root string, lookup func(string) (string, bool)) error {
	var faults settings.Faults
	given, err := settings.Read(lookup)
	faults.Note(err)
	faults.Note(given.CheckTrial())
	t, err := settings.ReadTemplate(root)
	if err != nil {
		return err
	}
	faults.Note(t.CheckValues(given.Parameters))
	_, first := given.Parameters["Issuer"]
	if first {
		faults.Note(t.CheckTogether(func(name string) string { return t.Value(name, given.Parameters, nil) }))
	}
	if given.Region == "" && !hasConfig(lookup) {
		faults.Note(settings.ErrNoRegion)
		if !first {
			faults.Note(fmt.Errorf("a new stack needs ISSUER= and AUDIENCE= too: %s", settings.Usage))
		}
	}
	return faults.Err()
}

// hasConfig reports whether AWS's clients have a configuration file, which may name a region.
func hasConfig(lookup func(string) (string, bool)) bool {
	path, given := lookup("AWS_CONFIG_FILE")
	if !given {
		home, err := os.UserHomeDir()
		if err != nil {
			return false
		}
		path = filepath.Join(home, ".aws", "config")
	}
	_, err := os.Stat(path)
	return err == nil
}
