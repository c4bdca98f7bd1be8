package main

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryArtifactHoldsTheLicenses(t *testing.T) {
	b := testBuild(t)
	want, err := b.licenses(t.Context())
	require.NoError(t, err)
	again, err := b.licenses(t.Context())
	require.NoError(t, err)
	assert.Equal(t, digest(want), digest(again))
	for _, text := range []string{"github.com/goreleaser/nfpm/v2@", "github.com/google/go-containerregistry@",
		"Go's standard library, go1.", "Apache License", "The Go Authors"} {
		assert.Contains(t, string(want), text)
	}
	count := 0
	for name, data := range testArtifacts(t, b) {
		if !holdsFiles(name) {
			continue
		}
		files, err := unpack(name, data)
		require.NoError(t, err)
		i := slices.IndexFunc(files, func(f file) bool { return path.Base(f.path) == licensesFile })
		if assert.GreaterOrEqual(t, i, 0, name) {
			assert.Equal(t, digest(want), digest(files[i].data), name)
		}
		count++
	}
	assert.GreaterOrEqual(t, count, 10, "archive, deb, rpm, image, bundle, two npm packages; archive, deb and rpm of the hub")
}

func TestLicenseTexts(t *testing.T) {
	module := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		return dir
	}
	one := module(map[string]string{"LICENSE.md": "same\r\n", "NOTICE": "notice", "license.go": "package x", "README": "x"})
	two := module(map[string]string{"COPYING": "same", "SQLITE-LICENSE": "public"})
	text, err := licenseTexts(map[string]string{"b@v2": two, "a@v1": one})
	require.NoError(t, err)
	line := "================================================================================\n"
	assert.Equal(t, "toolhost and its helper programs contain the modules below, under these licenses.\n"+
		"\n"+line+"a@v1 (LICENSE.md)\nb@v2 (COPYING)\n\nsame\n"+
		"\n"+line+"a@v1 (NOTICE)\n\nnotice\n"+
		"\n"+line+"b@v2 (SQLITE-LICENSE)\n\npublic\n", string(text))

	_, err = licenseTexts(map[string]string{"c@v1": module(map[string]string{"README": "x"})})
	assert.ErrorContains(t, err, "c@v1 has no license text")
}
