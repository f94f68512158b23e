package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"latchkey/infra/tools"
)

// build is a release that is being made.
type build struct {
	release
	dir   string            // the folder with the sources
	files map[string][]byte // the files of the release so far, by path
}

// target returns the environment in which the functions are compiled. It sets every variable of Go that changes the program.
func (b build) target() []string {
	return append(tools.SAMBuildEnvironment(), "GOOS=linux", "GOARCH="+b.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
}

// programs compiles the functions.
func (b build) programs(ctx context.Context) error {
	out := filepath.Join(b.dir, "built")
	if _, err := tools.Output(ctx, b.dir, b.target(), "go", "build", "-o", out+"/", "./functions/..."); err != nil {
		return err
	}
	made, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	for _, program := range made {
		text, err := os.ReadFile(filepath.Join(out, program.Name()))
		if err != nil {
			return err
		}
		b.files["functions/"+program.Name()+"/bootstrap"] = text
	}
	return nil
}

// licences adds the licences of Go and of each module that is compiled in. Most licences must accompany the program.
func (b build) licences(ctx context.Context) error {
	const module = "{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}{{end}}"
	list, err := tools.Output(ctx, b.dir, b.target(), "go", "list", "-deps", "-f", module, "./functions/...")
	if err != nil {
		return err
	}
	root, err := tools.Output(ctx, b.dir, nil, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(list), "\n")
	slices.Sort(lines)
	for _, line := range append(slices.Compact(lines), "go "+strings.TrimSpace(root)) {
		name, dir, _ := strings.Cut(line, " ")
		if name == "" { // a package of the standard library
			continue
		}
		if err := b.licence(name, dir); err != nil {
			return err
		}
	}
	return nil
}

func (b build) licence(module, dir string) error {
	found := false
	for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*", "NOTICE*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, p := range paths {
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b.files["licences/"+module+"/"+filepath.Base(p)], found = text, true
		}
	}
	if !found {
		return fmt.Errorf("%s has no licence in %s", module, dir)
	}
	return nil
}

// components adds the list of components, in CycloneDX's form. It sets the version itself, because cyclonedx-gomod looks for the
// version in git. It removes the hashes of cyclonedx-gomod, which differ between machines.
func (b build) components(ctx context.Context) error {
	out, err := tools.Output(ctx, b.dir, nil, "go", "tool", "-modfile=infra/tools/release/tools.mod", "cyclonedx-gomod",
		"mod", "-json", "-std", "-short-purls", "-noserial", "-notimestamp")
	if err != nil {
		return err
	}
	var list map[string]any
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return fmt.Errorf("the list of components: %w", err)
	}
	metadata, _ := list["metadata"].(map[string]any)
	component, isComponent := metadata["component"].(map[string]any)
	writers, isWritten := metadata["tools"].([]any)
	if !isComponent || !isWritten {
		return errors.New("the list of components has no metadata.component or no metadata.tools")
	}
	component["version"] = "v" + b.version
	component["purl"] = fmt.Sprintf("pkg:golang/%v@v%s", component["name"], b.version)
	for _, w := range writers {
		if writer, ok := w.(map[string]any); ok {
			delete(writer, "hashes")
		}
	}
	compiled, _ := list["components"].([]any)
	bundled, err := b.npmComponents()
	if err != nil {
		return err
	}
	list["components"] = append(compiled, bundled...)
	text, err := json.MarshalIndent(list, "", "  ")
	b.files["sbom.cdx.json"] = append(text, '\n')
	return err
}

// npmTarball matches the end of the name of a package's file. The group is the version.
var npmTarball = regexp.MustCompile(`-(\d+\.\d+\.\d+[^/]*)\.tgz$`)

// npmComponents returns the npm packages that are bundled in the console's files.
func (b build) npmComponents() (all []any, err error) {
	var packages []struct{ Name, File string }
	text, err := os.ReadFile(filepath.Join(b.dir, "infra/console/npm/lock.json"))
	if err == nil {
		err = json.Unmarshal(text, &packages)
	}
	for _, p := range packages {
		version := npmTarball.FindStringSubmatch(p.File)
		if version == nil {
			return nil, fmt.Errorf("the file %s has no version", p.File)
		}
		purl := fmt.Sprintf("pkg:npm/%s@%s", strings.Replace(p.Name, "@", "%40", 1), version[1])
		all = append(all, map[string]any{"type": "library", "name": p.Name, "version": version[1], "purl": purl, "bom-ref": purl})
	}
	return all, err
}

// sums returns the files' hashes, as sha256sum reads them.
func sums(files map[string][]byte) []byte {
	var out []byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = fmt.Appendf(out, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return out
}

// epoch is the time of every file in a zip: the first time that a zip can have.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// pack returns a zip with the files in a folder. Order, times and permissions are always the same.
func pack(folder string, files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &zip.FileHeader{Name: folder + "/" + name, Method: zip.Deflate, Modified: epoch}
		header.SetMode(0o644)
		if path.Base(name) == "bootstrap" {
			header.SetMode(0o755)
		}
		file, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(files[name]); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
