// Bundle builds the console's page, ../built, from its sources in ../page. It is a separate module so
// that no program of toolhost links the bundler.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	files, err := build("../page")
	for name, data := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join("..", "built", name), data, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// build returns the files of the page with sources in dir.
func build(dir string) (map[string][]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	vendor := func(names ...string) string {
		return filepath.Join(append([]string{dir, "vendor"}, names...)...)
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(dir, "app.jsx"), filepath.Join(dir, "app.css")}, AbsWorkingDir: dir,
		Outdir: dir, Bundle: true, MinifySyntax: true, MinifyWhitespace: true, MinifyIdentifiers: true,
		Target: api.ES2022, Format: api.FormatESModule, JSXFactory: "h", JSXFragment: "Fragment",
		Inject: []string{filepath.Join(dir, "jsx.js")}, LegalComments: api.LegalCommentsNone,
		Banner: map[string]string{"js": "/* Preact and its signals: MIT license, in THIRD_PARTY_LICENSES */"},
		Alias: map[string]string{
			"preact": vendor("preact@11.2.0", "preact.mjs"), "preact/hooks": vendor("preact@11.2.0", "hooks", "hooks.mjs"),
			"@preact/signals":      vendor("preact-signals@2.11.4", "signals.mjs"),
			"@preact/signals-core": vendor("preact-signals-core@1.14.5", "signals-core.mjs"),
		},
	})
	if len(result.Errors) > 0 {
		return nil, fmt.Errorf("%s", api.FormatMessages(result.Errors, api.FormatMessagesOptions{}))
	}
	html, err := os.ReadFile(filepath.Join(dir, "index.html"))
	files := map[string][]byte{"index.html": html}
	for _, out := range result.OutputFiles {
		files[filepath.Base(out.Path)] = out.Contents
	}
	return files, err
}
