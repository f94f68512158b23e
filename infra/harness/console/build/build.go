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

// distFolder has the built files. They are committed, so that the build of the function needs neither the sources nor esbuild.
const distFolder = "functions/console/dist"

// build returns the files of dist, by name. A name has a hash of the file, so that browsers may cache the file without a limit. The
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
	hashed := map[string][]byte{} // the files that get a hash in their name
	if hashed["icon.svg"], err = os.ReadFile(filepath.Join(sources, "icon.svg")); err != nil {
		return nil, err
	}
	for _, entry := range []string{"src/main.ts", "src/verify.ts", "src/elements.ts", "src/reference.ts", "page.css"} {
		name := strings.Replace(filepath.Base(entry), ".ts", ".js", 1)
		if hashed[name], err = bundle(filepath.Join(sources, entry), modules); err != nil {
			return nil, err
		}
	}
	for name, b := range hashed {
		if err := rename(files, name, hashedName(name, b)); err != nil {
			return nil, err
		}
	}
	for name, b := range hashed {
		files[hashedName(name, b)] = b
	}
	return files, nil
}

// rename replaces a name by its hashed name in the files that refer to it.
func rename(files map[string][]byte, name, hashed string) error {
	before, after := []byte("/"+name+`"`), []byte("/"+hashed+`"`)
	isUsed := false
	for file, b := range files {
		isUsed = isUsed || bytes.Contains(b, before)
		files[file] = bytes.ReplaceAll(b, before, after)
	}
	if !isUsed {
		return fmt.Errorf("no page refers to %s", name)
	}
	return nil
}

// tsconfig is used in place of the file tsconfig.json, because the paths in that file are only for the check of types. As in that
// file, class fields must not hide Lit's reactive properties.
const tsconfig = `{"compilerOptions": {"useDefineForClassFields": false}}`

// bundle returns one file with the entry and all its imports, and the licenses at the end.
func bundle(entry, modules string) ([]byte, error) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, NodePaths: []string{modules}, Bundle: true, Outdir: "dist", Platform: api.PlatformBrowser,
		Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsEndOfFile,
		TsconfigRaw: tsconfig, Loader: loaders(entry), Define: constants(),
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
	})
	if len(result.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
	}
	if len(result.OutputFiles) != 1 {
		return nil, fmt.Errorf("the bundle of %s has %d files", entry, len(result.OutputFiles))
	}
	return result.OutputFiles[0].Contents, nil
}

// constants returns constants of the sources, with their values from the product's tables.
func constants() map[string]string {
	types, _ := json.Marshal(webhook.AllTypes()) // a list of texts has no error
	return map[string]string{"EVENT_TYPES": string(types)}
}

// loaders makes a script get an imported .css, .mjs or .py file as text.
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
