package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// locked is an npm package in lock.json. npm publishes the integrity.
type locked struct {
	Name      string `json:"name"`
	File      string `json:"file"`
	Integrity string `json:"integrity"`
}

// unpack unpacks the packages of the folder npm into the folder modules. It checks the integrity of a tarball before it unpacks
// the tarball.
func unpack(npm, modules string) error {
	b, err := os.ReadFile(filepath.Join(npm, "lock.json"))
	if err != nil {
		return err
	}
	var packages []locked
	if err := json.Unmarshal(b, &packages); err != nil {
		return fmt.Errorf("lock.json: %w", err)
	}
	for _, p := range packages {
		tarball, err := os.ReadFile(filepath.Join(npm, p.File))
		if err != nil {
			return err
		}
		sum := sha512.Sum512(tarball)
		if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != p.Integrity {
			return fmt.Errorf("%s has the integrity %s, but lock.json has %s", p.File, got, p.Integrity)
		}
		if err := unpackTarball(tarball, filepath.Join(modules, filepath.FromSlash(p.Name))); err != nil {
			return fmt.Errorf("%s: %w", p.File, err)
		}
	}
	return nil
}

func unpackTarball(tarball []byte, to string) error {
	zipped, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		return err
	}
	for r := tar.NewReader(zipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(header.Name, "/") // all files of an npm tarball are in one folder, "package"
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if !filepath.IsLocal(name) {
			return fmt.Errorf("the name %q leads out of the folder", header.Name)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		path := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
}
