package main

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"latchkey/infra/deploy/standin"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// unzipped writes the files of a zip as unzip does, and returns the folder in it.
func unzipped(t *testing.T, text []byte) string {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range in.File {
		from, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, f.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "latchkey-1.2.3-"+runtime.GOARCH)
}

// checkPrograms translates the template, and checks that the code of each function is a program for the right processor.
func checkPrograms(t *testing.T, dir string) {
	path := filepath.Join(dir, "template.yaml")
	tpl, err := translated.Translate(t.Context(), path, translated.Options{Parameters: map[string]string{"Issuer": "https://issuer.example", "Audience": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	for _, name := range tpl.Named("AWS::Lambda::Function") {
		file := filepath.Join(dir, tpl.Code[name], "bootstrap")
		program, err := elf.Open(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if program.Machine != machine {
			t.Errorf("%s is for %v", name, program.Machine)
		}
		_ = program.Close()
		if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o111 != 0o111 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if n := len(tpl.Named("AWS::Lambda::Function")); n < 15 { // the template has more
		t.Errorf("%d functions", n)
	}
	wrong := map[string]string{"arm64": "x86_64", "amd64": "arm64"}[runtime.GOARCH]
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte("AllowedValues: [")) || bytes.Contains(text, []byte(wrong+"]")) {
		t.Errorf("the template allows %s too, or %v", wrong, err)
	}
}

// checkComponents checks that the list has every module of the programs, and no module that only tests use. The release must have
// the licence of each module.
func checkComponents(t *testing.T, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "sbom.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	type component struct{ Name, Version string }
	var list struct {
		BOMFormat  string
		Metadata   struct{ Component component }
		Components []component
	}
	if err := json.Unmarshal(text, &list); err != nil || list.BOMFormat != "CycloneDX" {
		t.Fatalf("%v: %.300s", err, text)
	}
	if list.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("the list is for %+v", list.Metadata.Component)
	}
	has := map[string]string{}
	for _, c := range list.Components {
		has[c.Name] = c.Version
	}
	for name, want := range map[string]bool{"github.com/aws/aws-lambda-go": true, "github.com/golang-jwt/jwt/v5": true, "std": true, "github.com/getkin/kin-openapi": false} {
		if (has[name] != "") != want {
			t.Errorf("%s: %q", name, has[name])
		}
	}
	for _, name := range []string{"lit", "lit-html", "lit-element", "@lit/reactive-element", "oauth4webapi"} { // in the console's files
		if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(has[name]) {
			t.Errorf("%s: %q", name, has[name])
		}
	}
	programs, err := filepath.Glob(filepath.Join(dir, "functions", "*", "bootstrap"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("%d programs, %v", len(programs), err)
	}
	out, err := exec.Command("go", append([]string{"version", "-m"}, programs...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	compiled := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "dep" {
			continue
		}
		compiled++
		if has[words[1]] != words[2] {
			t.Errorf("%s %s is compiled in, and the list has %q", words[1], words[2], has[words[1]])
		}
		if licence, err := filepath.Glob(filepath.Join(dir, "licences", words[1]+"@"+words[2], "*")); err != nil || len(licence) == 0 {
			t.Errorf("%s %s has no licence", words[1], words[2])
		}
	}
	if compiled < 50 { // a module counts once for each program
		t.Errorf("only %d modules were read", compiled)
	}
}

// deployRelease runs the command of README.txt against the stand-in for AWS. PATH is empty, so only the SAM CLI can run.
func deployRelease(t *testing.T, dir string) {
	cli, err := tools.SAM(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	aws := standin.Start()
	t.Cleanup(aws.Close)
	if text, err := os.ReadFile(filepath.Join(dir, "README.txt")); err != nil || !bytes.Contains(text, []byte("\n    "+deployCommand+"\n")) {
		t.Fatalf("%v: README.txt has another command\n%s", err, text)
	} else if !bytes.Contains(text, []byte("no preflight, no protection and no proof")) {
		t.Errorf("README.txt does not name the steps that the command leaves out:\n%s", text)
	}
	arguments := strings.Fields(strings.NewReplacer("'", "", "https://...", "https://issuer.example").Replace(deployCommand))[1:]
	cmd := exec.CommandContext(t.Context(), cli, append(arguments, "--no-confirm-changeset")...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + t.TempDir(), "HOME=" + t.TempDir(), "SAM_CLI_TELEMETRY=0", "SAM_CLI_POLL_DELAY=0.05", "LC_ALL=C.UTF-8",
		"AWS_ENDPOINT_URL=" + aws.URL, "AWS_ACCESS_KEY_ID=AKIDLOCAL", "AWS_SECRET_ACCESS_KEY=local", "AWS_DEFAULT_REGION=eu-central-1", "AWS_EC2_METADATA_DISABLED=true",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	stack := aws.Stack("latchkey")
	if stack == nil || stack.Status != "CREATE_COMPLETE" || stack.Parameters["Issuer"] != "https://issuer.example" {
		t.Fatalf("%+v", stack)
	}
	functions := strings.Count(stack.Template, "Type: AWS::Serverless::Function")
	if n := strings.Count(stack.Template, "CodeUri: s3://"); n != functions || n < 15 {
		t.Errorf("the code of %d of %d functions was uploaded", n, functions)
	}
}
