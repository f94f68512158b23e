package tools

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// VirtualEnv returns the path of the interpreter of a Python virtual environment that has the requirements (the text of a
// requirements.txt). It installs the environment if needed. Without Python the error is a *MissingError.
func VirtualEnv(ctx context.Context, name, requirements string, say Progress) (string, error) {
	return program(ctx, name, requirements, "python", say)
}

// NodeModules returns a folder whose node_modules has the packages of a package.json and its
// package-lock.json. It installs them if needed. Without Node the error is a *MissingError.
func NodeModules(ctx context.Context, name, manifest, lockfile string, say Progress) (string, error) {
	return install(ctx, tool{
		name: name, recipe: []string{manifest, lockfile, platform}, missing: missingNode,
		build: func(ctx context.Context, dir string) error {
			err := errors.Join(
				os.WriteFile(filepath.Join(dir, "package.json"), []byte(manifest), 0o644),
				os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte(lockfile), 0o644))
			if err != nil {
				return err
			}
			return Run(ctx, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		},
	}, say)
}

func missingNode() (programs []string) {
	for _, p := range []string{"node", "npm"} {
		if _, err := exec.LookPath(p); err != nil {
			programs = append(programs, p+" (Node.js 20 or later)")
		}
	}
	return programs
}

// Jars returns a folder with the jars that a pom names. It installs them if needed. Without Java or
// Maven the error is a *MissingError.
func Jars(ctx context.Context, name, pom string, say Progress) (string, error) {
	return install(ctx, tool{
		name: name, recipe: []string{pom, mavenCopy}, missing: missingJava,
		build: func(ctx context.Context, dir string) error { return copyJars(ctx, dir, pom) },
	}, say)
}

// MavenCompile compiles the project in dir without its tests, and copies the jars that it needs
// into dir/target/dependency.
func MavenCompile(ctx context.Context, dir string) error {
	tools, err := Dir()
	if err != nil {
		return err
	}
	return maven(ctx, tools, dir, "-Dmaven.test.skip=true", "compile", mavenCopy, "-DincludeScope=runtime")
}
