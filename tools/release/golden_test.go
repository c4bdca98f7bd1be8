package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// plainBuild is a build for all platforms whose programs are short texts.
func plainBuild(t *testing.T) *build {
	t.Helper()
	b := testBuild(t)
	b.short, b.goVersion, b.programs = false, "go1.26.5", make(map[platform][]file)
	b.thirdParty = []byte("licenses\n") // the programs below name no modules
	for _, p := range platforms {
		for _, program := range compiled() {
			b.programs[p] = append(b.programs[p], file{path: program, mode: 0o755, data: []byte(program + p.String())})
		}
	}
	return b
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

// TestDescriptions compares the files for registries and package managers with
// golden files. Digests are those of the file names.
func TestDescriptions(t *testing.T) {
	b := plainBuild(t)
	made := make(map[string][]byte)
	for _, p := range platforms {
		for _, file := range []string{b.archiveName(name, p), b.bundleName(p)} {
			made[file] = []byte(file)
		}
	}
	formula, err := b.formula(made)
	require.NoError(t, err)
	golden(t, "toolhost.rb", formula)
	registry, err := b.serverJSON(made)
	require.NoError(t, err)
	golden(t, "server.json", registry)
	checkServer(t, registry)
	statement, err := b.provenance(map[string][]byte{"a": []byte("a")})
	require.NoError(t, err)
	golden(t, provenanceFile, statement)

	common, err := b.common(t.Context())
	require.NoError(t, err)
	wrapper, err := b.npmWrapper(common)
	require.NoError(t, err)
	golden(t, "package.json", content(t, "x.tgz", wrapper, "package/package.json"))
	for _, p := range []platform{{"linux", "amd64"}, {"darwin", "arm64"}} {
		pkg, err := b.npmPackage(p, common)
		require.NoError(t, err)
		golden(t, "package-"+p.os+".json", content(t, "x.tgz", pkg, "package/package.json"))
		bundle, err := b.bundle(p, common)
		require.NoError(t, err)
		golden(t, "manifest-"+p.os+".json", content(t, "x.mcpb", bundle, "manifest.json"))
	}
}

func content(t *testing.T, name string, data []byte, path string) []byte {
	t.Helper()
	files, err := unpack(name, data)
	require.NoError(t, err)
	f, ok := find(files, path)
	require.True(t, ok, path)
	return f.data
}

// checkServer checks a server.json against the registry's schema of 2025-12-11.
func checkServer(t *testing.T, text []byte) {
	t.Helper()
	var s server
	require.NoError(t, json.Unmarshal(text, &s))
	assert.Equal(t, "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", s.Schema)
	assert.Regexp(t, regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`), s.Name)
	assert.LessOrEqual(t, len(s.Name), 200)
	assert.LessOrEqual(t, len(s.Description), 100)
	assert.NotEmpty(t, s.Description)
	assert.NotEmpty(t, s.Version)
	assert.NotContains(t, s.Version, "^")
	assert.NotEmpty(t, s.Repository["url"])
	assert.NotEmpty(t, s.Repository["source"])
	require.NotEmpty(t, s.Packages)
	for _, p := range s.Packages {
		assert.NotEmpty(t, p.RegistryType)
		assert.NotEmpty(t, p.Identifier)
		assert.NotEqual(t, "latest", p.Version)
		assert.Contains(t, []string{"stdio", "streamable-http", "sse"}, p.Transport["type"])
		if p.RegistryType == "mcpb" {
			assert.Regexp(t, regexp.MustCompile(`^[a-f0-9]{64}$`), p.FileSHA256, "required for bundles")
		}
		for _, a := range p.PackageArguments {
			assert.Equal(t, "positional", a.Type)
			assert.NotEmpty(t, a.Value)
		}
	}
}

// TestContents compares each artifact's files with the layout in which toolhost
// looks for its helpers.
func TestContents(t *testing.T) {
	b := plainBuild(t)
	made, err := b.artifacts(t.Context())
	require.NoError(t, err)
	unixTree := []string{"bin/toolhost", "libexec/toolhost/channel", "libexec/toolhost/toolhost-architect",
		"libexec/toolhost/toolhost-console", "libexec/toolhost/toolhost-otel", "libexec/toolhost/toolhost-task"}
	unixHub := []string{"libexec/toolhost/toolhost-hub"}
	tests := []struct {
		name, below, channel string
		tree                 []string
		more                 []string
	}{
		{"toolhost_1.2.3_linux_amd64.tar.gz", "toolhost-1.2.3", "archive", unixTree,
			[]string{"LICENSE", "README.md", "share/bash-completion/completions/toolhost", unitPath, apparmorPath}},
		{"toolhost_1.2.3_darwin_arm64.tar.gz", "toolhost-1.2.3", "archive", unixTree, []string{"LICENSE"}},
		{"toolhost_1.2.3-1_amd64.deb", "usr", "deb toolhost", unixTree, []string{"share/doc/toolhost/copyright",
			"share/bash-completion/completions/toolhost", unitPath, apparmorPath}},
		{"toolhost-1.2.3-1.aarch64.rpm", "usr", "rpm toolhost", unixTree, []string{"share/doc/toolhost/copyright"}},
		{"toolhost_1.2.3.oci.tar", "linux-arm64/usr", "image", unixTree,
			[]string{"share/doc/toolhost/copyright", "../etc/passwd", "../etc/ssl/certs/ca-certificates.crt"}},
		{"toolhost-linux-x64-1.2.3.tgz", "package", "npm @toolhost/toolhost", unixTree, []string{"package.json", "LICENSE"}},
		{"toolhost_1.2.3_darwin_amd64.mcpb", "server", "mcpb", unixTree, []string{"../manifest.json", "../LICENSE"}},
		{"toolhost-hub_1.2.3_linux_arm64.tar.gz", "toolhost-1.2.3", "", unixHub, []string{"LICENSE", licensesFile}},
		{"toolhost-hub_1.2.3-1_arm64.deb", "usr", "", unixHub,
			[]string{"share/doc/toolhost-hub/copyright", "share/doc/toolhost-hub/" + licensesFile}},
		{"toolhost-hub-1.2.3-1.x86_64.rpm", "usr", "", unixHub, []string{"share/doc/toolhost-hub/copyright"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, ok := made[tt.name]
			require.True(t, ok, "made were %q", sortedNames(made))
			files, err := unpack(tt.name, data)
			require.NoError(t, err)
			assert.Len(t, programsOf(files, tt.below), len(slices.DeleteFunc(slices.Clone(tt.tree), isChannel)),
				"no other programs")
			for _, want := range append(slices.Clone(tt.tree), tt.more...) {
				f, ok := find(files, filepath.ToSlash(filepath.Join(tt.below, want)))
				if !assert.True(t, ok, want) {
					continue
				}
				mode := fs.FileMode(0o644)
				if slices.Contains(tt.tree, want) && !isChannel(want) {
					mode = 0o755
				}
				assert.Equal(t, mode, f.mode, want)
				if isChannel(want) {
					assert.Equal(t, tt.channel+"\n", string(f.data))
				}
			}
		})
	}
	t.Run("the image has its name", func(t *testing.T) {
		layout, err := untar(bytes.NewReader(made["toolhost_1.2.3.oci.tar"]))
		require.NoError(t, err)
		index, _ := find(layout, "index.json")
		assert.Contains(t, string(index.data), `"org.opencontainers.image.ref.name": "ghcr.io/toolhost/toolhost:1.2.3"`)
		assert.Contains(t, string(index.data), `"application/vnd.oci.image.index.v1+json"`)
	})
	t.Run("again, the same bytes", func(t *testing.T) {
		again := plainBuild(t)
		second, err := again.artifacts(t.Context())
		require.NoError(t, err)
		require.Equal(t, sortedNames(made), sortedNames(second))
		for name, data := range made {
			assert.Equal(t, digest(data), digest(second[name]), name)
		}
	})
}

func isChannel(path string) bool { return strings.HasSuffix(path, "/channel") }

func programsOf(files []file, dir string) (list []string) {
	for _, f := range files {
		if strings.HasPrefix(f.path, dir+"/") && f.mode&0o111 != 0 {
			list = append(list, f.path)
		}
	}
	return list
}

func sortedNames(made map[string][]byte) (names []string) {
	for name := range made {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
