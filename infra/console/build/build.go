package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// distFolder holds what build makes. It is checked in, so that the function's build needs nothing of all this.
const distFolder = "functions/console/dist"

// build returns the files of dist, by name. A name has the hash of what it names, so that a browser may keep it for ever;
// index.html alone has not.
func build(sources string) (map[string][]byte, error) {
	temp, err := os.MkdirTemp("", "console")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	modules := filepath.Join(temp, "node_modules")
	if err := unpack(filepath.Join(sources, "npm"), modules); err != nil {
		return nil, err
	}
	icon, errIcon := os.ReadFile(filepath.Join(sources, "icon.svg"))
	page, errPage := os.ReadFile(filepath.Join(sources, "index.html"))
	script, errScript := bundle(filepath.Join(sources, "src/main.ts"), modules)
	style, errStyle := bundle(filepath.Join(sources, "page.css"), modules)
	if err := errors.Join(errIcon, errPage, errScript, errStyle); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, b := range map[string][]byte{"main.js": script, "page.css": style, "icon.svg": icon} {
		hashed := hashedName(name, b)
		files[hashed] = b
		plain := []byte("/" + name + `"`)
		if !bytes.Contains(page, plain) {
			return nil, fmt.Errorf("index.html does not name %s", plain)
		}
		page = bytes.ReplaceAll(page, plain, []byte("/"+hashed+`"`))
	}
	files["index.html"] = page
	return files, nil
}

// tsconfig stands in place of the file tsconfig.json, whose paths are for the check of types. As in the file, class fields must
// not hide Lit's reactive properties.
const tsconfig = `{"compilerOptions": {"useDefineForClassFields": false}}`

// bundle returns the entry with all that it imports in one file. Licenses stand at its end.
func bundle(entry, modules string) ([]byte, error) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, NodePaths: []string{modules}, Bundle: true, Outdir: "dist", Platform: api.PlatformBrowser,
		Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsEndOfFile,
		TsconfigRaw:      tsconfig,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
	})
	if len(result.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
	}
	if len(result.OutputFiles) != 1 {
		return nil, fmt.Errorf("%s became %d files", entry, len(result.OutputFiles))
	}
	return result.OutputFiles[0].Contents, nil
}

// hashedName returns the name with a hash of the bytes before its extension.
func hashedName(name string, b []byte) string {
	sum := sha256.Sum256(b)
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:6]) + ext
}
