package tools

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// The requirements of the SAM CLI and of the AWS CLI.
var (
	//go:embed sam.txt
	samRequirements string
	//go:embed aws.txt
	awsRequirements string
)

// mavenCopy is the goal of Maven that copies the jars of a pom. It is pinned, so that every machine uses the same release.
const mavenCopy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

const leastJava = 17

// platform is in the recipe of what works on one platform only: one clone may be used on a machine and in a container.
const platform = runtime.GOOS + "/" + runtime.GOARCH

// maxOutput is the maximum number of bytes of a program's output in an error.
const maxOutput = 4000

// MissingError names programs that are not installed on this machine.
type MissingError struct{ Programs []string }

func (e *MissingError) Error() string {
	return "missing on this machine: " + strings.Join(e.Programs, "; ")
}

// Missing returns a *MissingError with the programs that the local stack needs and this machine does not have, or nil.
func Missing() error { return missing(missingJava, missingPython) }

// missing returns a *MissingError with the programs that the checks return, or nil when they return none.
func missing(checks ...func() []string) error {
	var all []string
	for _, check := range checks {
		all = append(all, check()...)
	}
	if len(all) == 0 {
		return nil
	}
	return &MissingError{Programs: all}
}

var javaRelease = regexp.MustCompile(`version "(\d+)`)

func missingJava() (programs []string) {
	for _, p := range []string{"java", "javac"} {
		if _, err := exec.LookPath(p); err != nil {
			programs = append(programs, fmt.Sprintf("%s (a JDK of Java %d or later)", p, leastJava))
		}
	}
	if _, err := exec.LookPath("mvn"); err != nil {
		programs = append(programs, "mvn (Maven)")
	}
	if len(programs) > 0 {
		return programs
	}
	out, _ := exec.Command("java", "-version").CombinedOutput() // after an error the output has no version
	m := append(javaRelease.FindSubmatch(out), nil, nil)        // so that m[1] exists without a match
	if n, err := strconv.Atoi(string(m[1])); err != nil || n < leastJava {
		return []string{fmt.Sprintf("Java %d or later; java -version printed: %s", leastJava, Tail(out))}
	}
	return nil
}

func missingPython() []string {
	_, lacks := python()
	return lacks
}

// python returns what a virtual environment needs to stay the same: the version of python3, and its path without links. lacks names
// what this machine lacks. On Debian ensurepip, which venv needs, is in another package (python3-venv).
func python() (interpreter string, lacks []string) {
	if _, err := exec.LookPath("python3"); err != nil {
		return "", []string{"python3 (Python 3.10 or later, with venv)"}
	}
	const program = "import ensurepip, os, sys, venv; assert sys.version_info >= (3, 10), sys.version; print(sys.version_info[:2], os.path.realpath(sys.executable))"
	interpreter, err := Output(context.Background(), "", nil, "python3", "-c", program)
	if err != nil {
		return "", []string{"a python3 of 3.10 or later with venv (Debian: python3-venv); this python3 printed: " + err.Error()}
	}
	return interpreter, nil
}

// JavaProgram returns a folder with the jars that a pom names, and the compiled class of a source file that starts them.
// source is the file's name. It installs the folder if needed. The class runs on every Java that the stack accepts. Without Java or
// Maven the error is a *MissingError.
func JavaProgram(ctx context.Context, name, pom, source, sourceText string, say Progress) (string, error) {
	release := strconv.Itoa(leastJava)
	return install(ctx, tool{
		name: name, recipe: []string{pom, sourceText, mavenCopy, release}, missing: missingJava,
		build: func(ctx context.Context, dir string) error {
			sourcePath := filepath.Join(dir, source)
			if err := errors.Join(os.WriteFile(sourcePath, []byte(sourceText), 0o644), copyJars(ctx, dir, pom)); err != nil {
				return err
			}
			return Run(ctx, dir, "javac", "-J-XX:TieredStopAtLevel=1", "--release", release, "-cp", filepath.Join(dir, "*"), "-d", dir, sourcePath)
		},
	}, say)
}

// copyJars copies the jars that a pom names into dir.
func copyJars(ctx context.Context, dir, pomText string) error {
	pomPath := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(pomPath, []byte(pomText), 0o644); err != nil {
		return err
	}
	return maven(ctx, filepath.Dir(dir), dir, "-f", pomPath, mavenCopy, "-DincludeScope=runtime", "-DoutputDirectory="+dir)
}

// maven runs Maven in dir; tools is the folder of Dir. If the user has no Maven repository in the home folder, the downloads go to
// tools. The JVM uses only its quick compiler: with both compilers a run needs a third more processor time.
func maven(ctx context.Context, tools, dir string, args ...string) error {
	args = append(args, "-B", "-ntp", "-q")
	if home, err := os.UserHomeDir(); err != nil || !exists(filepath.Join(home, ".m2")) {
		args = append(args, "-Dmaven.repo.local="+filepath.Join(tools, "m2"))
	}
	jvm := "MAVEN_OPTS=-XX:+UseSerialGC -XX:TieredStopAtLevel=1 " + os.Getenv("MAVEN_OPTS")
	_, err := Output(ctx, dir, []string{jvm}, "mvn", args...)
	return err
}

// keepBytecode is a line for a .pth file. Python runs it at its start. Many container images set PYTHONDONTWRITEBYTECODE, so Python
// would not keep compiled modules, and each start of the local KMS would need a second more.
const keepBytecode = "import sys; sys.dont_write_bytecode = False\n"

// program returns the path of a program in a virtual environment, and installs the environment if needed. requirements lists every
// package, dependencies included, with its version and its hashes. The SAM CLI and the local stack need different versions of the
// same packages, so each has its own environment. It works only with the interpreter that made it, and at its own path.
func program(ctx context.Context, env, requirements, name string, say Progress) (string, error) {
	interpreter, lacks := python()
	tools, err := Dir()
	if err != nil {
		return "", err
	}
	dir, err := install(ctx, tool{
		name: env, recipe: []string{requirements, keepBytecode, interpreter, platform, tools}, missing: func() []string { return lacks },
		build: func(ctx context.Context, dir string) error { return virtualEnv(ctx, dir, requirements) },
	}, say)
	return filepath.Join(dir, "bin", name), err
}

// virtualEnv makes a virtual environment in dir. If this machine's pip is new enough, it installs the packages: an environment
// without its own pip is made in a twentieth of the time.
func virtualEnv(ctx context.Context, dir, requirements string) error {
	list := filepath.Join(dir, "requirements.txt")
	venv, pip := []string{"-m", "venv", dir}, []string{filepath.Join(dir, "bin", "pip")}
	const isNewEnough = "import pip; assert [int(n) for n in pip.__version__.split('.')[:2]] >= [22, 3]"
	if Run(ctx, dir, "python3", "-c", isNewEnough) == nil {
		venv, pip = append(venv, "--without-pip"), []string{"python3", "-m", "pip", "--python", filepath.Join(dir, "bin", "python")}
	}
	// --no-compile: Python compiles the modules that are imported, a small part of all.
	args := append(pip[1:], "install", "-q", "--disable-pip-version-check", "--no-compile", "--require-hashes", "--no-deps", "-r", list)
	if err := errors.Join(os.WriteFile(list, []byte(requirements), 0o644), Run(ctx, dir, "python3", venv...)); err != nil {
		return err
	}
	packages, err := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages"))
	if err != nil || len(packages) != 1 {
		return errors.Join(fmt.Errorf("%s must have one folder of packages, not %q", dir, packages), err)
	}
	if err := os.WriteFile(filepath.Join(packages[0], "bytecode.pth"), []byte(keepBytecode), 0o644); err != nil {
		return err
	}
	return Run(ctx, dir, pip[0], args...)
}

// SAM returns the path of the SAM CLI, and installs it if needed. Without Python the error is a *MissingError.
func SAM(ctx context.Context, say Progress) (string, error) {
	return program(ctx, "sam", samRequirements, "sam", say)
}

// AWS returns the path of the AWS CLI, and installs it if needed. Without Python the error is a *MissingError.
func AWS(ctx context.Context, say Progress) (string, error) {
	return program(ctx, "aws", awsRequirements, "aws", say)
}

// Text returns the text of an embedded file. It panics when there is no such file.
func Text(files embed.FS, path string) string {
	text, err := files.ReadFile(path)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(text)
}

// Run runs a program to its end. The error has the end of the program's output.
func Run(ctx context.Context, dir, name string, args ...string) error {
	_, err := Output(ctx, dir, nil, name, args...)
	return err
}

// Output runs a program and returns its standard output. It adds env to the environment of this process. The error
// has the end of what the program prints.
func Output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if filepath.IsAbs(name) { // an installed tool needs the programs in its folder
		cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(name)+":"+os.Getenv("PATH"))
	}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s\n%s", filepath.Base(name), err, Tail(out.Bytes()), Tail(stderr.Bytes()))
	}
	return out.String(), nil
}

// Tail returns the end of a program's output, enough to see its error.
func Tail(b []byte) string { return string(bytes.TrimSpace(b[max(0, len(b)-maxOutput):])) }

// Architecture returns the template's name of a processor, by Go's name.
func Architecture(goarch string) string {
	return map[string]string{"arm64": "arm64", "amd64": "x86_64"}[goarch]
}

// SAMBuildEnvironment returns the environment in which functions are built and deployed: Go's flags, and no telemetry of the SAM CLI.
// The tag lambda.norpc leaves out the RPC mode of the old Go runtime, which makes a cold start a third longer. Without
// -buildvcs=false each commit would change every program.
func SAMBuildEnvironment() []string {
	return append(os.Environ(), "SAM_CLI_TELEMETRY=0", "CGO_ENABLED=0",
		"GOFLAGS=-buildvcs=false -trimpath -tags=lambda.norpc -ldflags=-s")
}

// SAMEnvironment returns the environment of the SAM CLI for work that needs no account: SAMBuildEnvironment, with made-up
// credentials and a region when there are none.
func SAMEnvironment() []string {
	env := SAMBuildEnvironment()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
	} {
		if os.Getenv(name) == "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}
