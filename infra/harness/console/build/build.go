package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"latchkey/infra/harness/console/reference"
	"latchkey/pkg/webhook"
)

// distFolder holds what build makes. It is checked in, so that the function's build needs nothing of all this.
const distFolder = "functions/console/dist"

// build returns the files of dist, by name. A name has a hash of the file, so that a browser may keep the file without an end; the
// names of pages, elements.js, accent.css and llms.txt have no hash.
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
	document, err := os.ReadFile(filepath.Join(sources, "../openapi.yaml"))
	if err != nil {
		return nil, err
	}
	files, err := reference.Build(document)
	if err != nil {
		return nil, err
	}
	for _, page := range []string{"index.html", "verify.html", "elements.js", "accent.css"} {
		if files[page], err = os.ReadFile(filepath.Join(sources, page)); err != nil {
			return nil, err
		}
	}
	named := map[string][]byte{}
	if named["icon.svg"], err = os.ReadFile(filepath.Join(sources, "icon.svg")); err != nil {
		return nil, err
	}
	for _, entry := range []string{"src/main.ts", "src/verify.ts", "src/elements.ts", "src/reference.ts", "page.css"} {
		name := strings.Replace(filepath.Base(entry), ".ts", ".js", 1)
		if named[name], err = bundle(filepath.Join(sources, entry), modules); err != nil {
			return nil, err
		}
	}
	for name, b := range named {
		if err := rename(files, name, hashedName(name, b)); err != nil {
			return nil, err
		}
	}
	for name, b := range named {
		files[hashedName(name, b)] = b
	}
	return files, nil
}

// rename writes the hashed name in place of the name, in the files that name it.
func rename(files map[string][]byte, name, hashed string) error {
	before, after := []byte("/"+name+`"`), []byte("/"+hashed+`"`)
	isNamed := false
	for file, b := range files {
		isNamed = isNamed || bytes.Contains(b, before)
		files[file] = bytes.ReplaceAll(b, before, after)
	}
	if !isNamed {
		return fmt.Errorf("no page names %s", name)
	}
	return nil
}

// tsconfig replaces the file tsconfig.json, whose paths are for the check of types. As in the file, class fields must
// not hide Lit's reactive properties.
const tsconfig = `{"compilerOptions": {"useDefineForClassFields": false}}`

// bundle returns one file with the entry and all its imports. Licenses are at its end.
func bundle(entry, modules string) ([]byte, error) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, NodePaths: []string{modules}, Bundle: true, Outdir: "dist", Platform: api.PlatformBrowser,
		Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsEndOfFile,
		TsconfigRaw: tsconfig, Loader: loaders(entry), Define: defined(),
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

// defined has what the sources use from the product's own tables.
func defined() map[string]string {
	types, _ := json.Marshal(webhook.AllTypes()) // texts are always JSON
	return map[string]string{"EVENT_TYPES": string(types)}
}

// loaders turns an import of another file into its text, as a part of the script.
func loaders(entry string) map[string]api.Loader {
	if filepath.Ext(entry) == ".css" {
		return nil
	}
	return map[string]api.Loader{".css": api.LoaderText, ".mjs": api.LoaderText, ".py": api.LoaderText}
}

// hashedName returns the name with a hash of the bytes before its extension.
func hashedName(name string, b []byte) string {
	sum := sha256.Sum256(b)
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:6]) + ext
}
