// Command release is run by `make release`. It makes a zip that the SAM CLI deploys without Go. It reads only committed files, so
// the same commit and the same release of Go give the same zip, byte for byte, in every folder.
//
// A zip is for one processor. A zip for both would be twice as large, and a deployment could choose the wrong programs.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"latchkey/infra/tools"
)

func main() {
	tools.Exit("latchkey: ", start(context.Background()))
}

func start(ctx context.Context) error {
	root, errRoot := tools.Root()
	r, errGiven := read(root, os.Getenv("VERSION"), os.Getenv("ARCH"))
	if err := errors.Join(errGiven, errRoot); err != nil {
		return err
	}
	files, err := r.files(ctx)
	if err != nil {
		return err
	}
	made, err := pack(r.name(), files)
	if err != nil {
		return err
	}
	path := filepath.Join(root, ".local", "release", r.name()+".zip")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, made, 0o644)); err != nil {
		return err
	}
	fmt.Printf("%x  %s\n", sha256.Sum256(made), path)
	fmt.Printf("Next: unzip it, and in its folder: %s\n", deployCommand)
	return nil
}

// deployCommand deploys a release, in its folder. The other options are in samconfig.toml.
const deployCommand = "sam deploy --parameter-overrides 'Issuer=https://... Audience=https://...'"

// release is a release to make.
type release struct {
	root    string // the folder of the repository
	version string // without a v
	arch    string // Go's name of the processor
}

// semantic matches a semantic version (semver.org) without build metadata, which a zip's name cannot keep on every system.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?$`)

func read(root, version, arch string) (release, error) {
	r := release{root: root, version: version, arch: cmp.Or(arch, "arm64")}
	if r.arch == "x86_64" {
		r.arch = "amd64"
	}
	switch {
	case !semantic.MatchString(version):
		return r, fmt.Errorf("VERSION=%s: give a semantic version, such as 1.2.3 or 1.2.3-rc.1, without a v", version)
	case r.arch != "arm64" && r.arch != "amd64":
		return r, fmt.Errorf("ARCH=%s: the functions run on arm64 or amd64", arch)
	}
	return r, nil
}

// name is the name of the zip and of the folder in it.
func (r release) name() string { return "latchkey-" + r.version + "-" + r.arch }

// sources are the files from which a release is made. The list of components has only the modules that these files need.
var sources = []string{"functions", "pkg", "infra/openapi.go", "infra/openapi.yaml", "infra/console/npm/lock.json", "infra/tools/release", "go.mod", "go.sum", "template.yaml", "samconfig.toml"}

// export copies the sources to dir, as they are in the commit. Error: something is not committed.
func (r release) export(ctx context.Context, dir string) error {
	changed, err := tools.Output(ctx, r.root, nil, "git", "status", "--porcelain")
	if err != nil {
		return fmt.Errorf("a release is made from a commit: %w", err)
	}
	if changed != "" {
		return fmt.Errorf("a release is made from a commit, but these files have changes that are not committed:\n%s", changed)
	}
	list, err := tools.Output(ctx, r.root, nil, "git", append([]string{"ls-files", "-z", "--"}, sources...)...)
	if err != nil {
		return err
	}
	names := strings.Split(strings.Trim(list, "\x00"), "\x00")
	_, err = tools.Output(ctx, r.root, nil, "git", append([]string{"checkout-index", "--prefix=" + dir + "/", "--"}, names...)...)
	return err
}

// files returns the files of the release by their paths.
func (r release) files(ctx context.Context) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "latchkey-release-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := r.export(ctx, dir); err != nil {
		return nil, err
	}
	b := build{release: r, dir: dir, files: map[string][]byte{}}
	for _, step := range []func(context.Context) error{b.programs, b.documents, b.licences, b.components} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	b.files["SHA256SUMS"] = sums(b.files)
	return b.files, nil
}

// readme has placeholders for the version, the processor, the command and the release of Go.
//
//go:embed readme.txt
var readme string

// documents adds the template, the contract of the API, and README.txt, which explains the deployment.
func (b build) documents(ctx context.Context) error {
	text, errTemplate := os.ReadFile(filepath.Join(b.dir, "template.yaml"))
	settings, errSettings := os.ReadFile(filepath.Join(b.dir, "samconfig.toml"))
	openapi, errOpenAPI := os.ReadFile(filepath.Join(b.dir, "infra", "openapi.yaml"))
	if err := errors.Join(errTemplate, errSettings, errOpenAPI); err != nil {
		return err
	}
	newer, errNewer := tools.Output(ctx, b.root, nil, "go", "-C", "infra/harness", "run", "./contract/openapi31")
	template, errTemplate := b.template(string(text))
	b.files["template.yaml"], b.files["samconfig.toml"] = template, settings
	b.files["openapi.yaml"], b.files["openapi-3.1.json"] = openapi, []byte(newer)
	b.files["README.txt"] = fmt.Appendf(nil, readme, b.version, b.arch, deployCommand, runtime.Version())
	return errors.Join(errNewer, errTemplate)
}

// Parts of template.yaml that differ in a release. The SAM CLI builds no function of a release, and a release has one processor.
const (
	function     = "\n    Type: AWS::Serverless::Function\n"
	isBuilt      = "\n    Metadata: { BuildMethod: go1.x }\n"
	isNotBuilt   = "\n    Metadata: { SkipBuild: true }\n"
	anyProcessor = "\n    Default: arm64\n    AllowedValues: [arm64, x86_64]\n    Description: The processor of the functions. make deploy ARCH= sets it\n"
	oneProcessor = "\n    Default: %[1]s\n    AllowedValues: [%[1]s]\n    Description: The processor of the functions. This release is for one\n"
)

// template returns the template of the release: its functions need no build, and have one processor. The folder of each function
// has the same path as in the repository, so CodeUri does not change.
func (b build) template(text string) ([]byte, error) {
	built := strings.Count(text, isBuilt)
	if n := strings.Count(text, function); n != built || n == 0 {
		return nil, fmt.Errorf("template.yaml: %d of %d functions are built as go1.x", built, n)
	}
	for name := range b.files {
		folder, isProgram := strings.CutSuffix(name, "bootstrap")
		if isProgram && !strings.Contains(text, "\n      CodeUri: "+folder+"\n") {
			return nil, fmt.Errorf("template.yaml: no function has the code of %s", folder)
		}
	}
	if strings.Count(text, anyProcessor) != 1 {
		return nil, errors.New("template.yaml: the text of the parameter Architecture has changed")
	}
	text = strings.ReplaceAll(text, isBuilt, isNotBuilt)
	return []byte(strings.Replace(text, anyProcessor, fmt.Sprintf(oneProcessor, tools.Architecture(b.arch)), 1)), nil
}
