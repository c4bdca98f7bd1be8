package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var testTime = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

// testBuild is a build whose programs are all this test, a Go program like toolhost.
func testBuild(t *testing.T) *build {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	data, err := os.ReadFile(self)
	require.NoError(t, err)
	source := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(source, "fleet"), 0o755))
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		require.NoError(t, os.WriteFile(filepath.Join(source, name), []byte(name+"\n"), 0o644))
	}
	b := &build{version: "v1.2.3", commit: strings.Repeat("c0ffee00", 5), time: testTime, short: true, source: source,
		dist: filepath.Join(t.TempDir(), "dist"), progress: io.Discard, goVersion: runtime.Version(), temp: t.TempDir(),
		completions: []file{{path: "share/bash-completion/completions/toolhost", mode: 0o644, data: []byte("complete\n")}}}
	b.programs = make(map[platform][]file)
	for _, program := range []string{name, hub} {
		b.programs[linuxAMD64] = append(b.programs[linuxAMD64], file{path: program, mode: 0o755, data: data})
	}
	return b
}

// madeOnce caches the artifacts of a testBuild, which takes seconds.
var madeOnce sync.Map

func testArtifacts(t *testing.T, b *build) map[string][]byte {
	t.Helper()
	if made, ok := madeOnce.Load("made"); ok {
		return maps.Clone(made.(map[string][]byte))
	}
	made, err := b.artifacts(t.Context())
	require.NoError(t, err)
	madeOnce.Store("made", maps.Clone(made))
	return made
}

// testRelease writes a signed release and returns its public key.
func testRelease(t *testing.T) (dir, key string) {
	t.Helper()
	b := testBuild(t)
	contents, err := b.describe(testArtifacts(t, b))
	require.NoError(t, err)
	require.NoError(t, write(b.dist, contents))
	require.NoError(t, keyOptions{throwaway: true}.sign(b.dist, b.version, io.Discard))
	return b.dist, filepath.Join(b.dist, throwawayFile)
}

func TestArchivesAreTheSameEverywhere(t *testing.T) {
	b := testBuild(t)
	files := []file{{path: "b/x", mode: 0o755, data: []byte("x")}, {path: "a", mode: 0o644, data: []byte("a")},
		{path: "b/a", mode: 0o777, link: "x"}}
	makers := map[string]func([]file, time.Time, int) ([]byte, error){"tar.gz": tarGz, "zip": zipped}
	for kind, pack := range makers {
		t.Run(kind, func(t *testing.T) {
			if kind == "zip" {
				files = files[:2]
			}
			first, err := pack(files, b.time, packed)
			require.NoError(t, err)
			old := syscall.Umask(0o077)
			defer syscall.Umask(old)
			t.Setenv("TZ", "Asia/Tokyo")
			turned := []file{files[1], files[0]}
			turned = append(turned, files[2:]...)
			second, err := pack(turned, b.time, packed)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(first, second), "order, umask and time zone must not show")
			unpacked, err := unpack("x."+kind, first)
			require.NoError(t, err)
			want, err := sorted(files)
			require.NoError(t, err)
			require.Len(t, unpacked, len(want))
			for i, f := range want {
				assert.Equal(t, f.path, unpacked[i].path)
				assert.Equal(t, f.link, unpacked[i].link)
				if f.link == "" {
					assert.Equal(t, f.mode, unpacked[i].mode)
					assert.Equal(t, f.data, unpacked[i].data)
				}
			}
		})
	}
	t.Run("two files of one name", func(t *testing.T) {
		_, err := tarGz([]file{{path: "a"}, {path: "a"}}, b.time, packed)
		assert.ErrorContains(t, err, "two files are called a")
	})
}

// TestVerify changes a release in every way and requires that it is refused.
func TestVerify(t *testing.T) {
	dir, key := testRelease(t)
	report, err := verify(dir, key)
	require.NoError(t, err)
	assert.Contains(t, report, "toolhost v1.2.3 is as it was signed")
	assert.Contains(t, report, "commit "+strings.Repeat("c0ffee00", 5))

	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() == throwawayFile {
			continue
		}
		t.Run("a changed byte of "+e.Name(), func(t *testing.T) {
			path := filepath.Join(dir, e.Name())
			original, err := os.ReadFile(path)
			require.NoError(t, err)
			defer func() { require.NoError(t, os.WriteFile(path, original, 0o644)) }()
			changed := bytes.Clone(original)
			changed[len(changed)/2] ^= 1
			require.NoError(t, os.WriteFile(path, changed, 0o644))
			_, err = verify(dir, key)
			assert.Error(t, err)
			require.NoError(t, os.Remove(path))
			_, err = verify(dir, key)
			assert.Error(t, err, "nor may it be missing")
		})
	}
	t.Run("a file that nobody signed", func(t *testing.T) {
		path := filepath.Join(dir, "extra.deb")
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		defer os.Remove(path)
		_, err := verify(dir, key)
		assert.ErrorContains(t, err, "extra.deb is not part of the release")
	})
	t.Run("another key", func(t *testing.T) {
		public, _, err := minisign.GenerateKey(nil)
		require.NoError(t, err)
		_, err = verify(dir, public.String())
		assert.ErrorContains(t, err, "was not signed by the key")
	})
	_, err = verify(dir, key)
	require.NoError(t, err, "the release itself was left as it was")
}

// TestVerifyReads refuses a release with a right signature and wrong descriptions.
func TestVerifyReads(t *testing.T) {
	tests := []struct {
		name   string
		change func(contents map[string][]byte)
		want   string
	}{
		{"an SBOM of something else", func(c map[string][]byte) {
			c["toolhost_1.2.3_linux_amd64.tar.gz"+sbomSuffix] = []byte("{}")
		}, "does not say what is in"},
		{"no SBOM", func(c map[string][]byte) { delete(c, "toolhost_1.2.3_linux_amd64.tar.gz"+sbomSuffix) }, "has no SBOM"},
		{"an artifact without provenance", func(c map[string][]byte) { c["more.txt"] = []byte("x") },
			"does not state how more.txt was built"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := testBuild(t)
			contents, err := b.describe(testArtifacts(t, b))
			require.NoError(t, err)
			tt.change(contents)
			if tt.name != "an artifact without provenance" {
				delete(contents, provenanceFile)
				contents[provenanceFile], err = b.provenance(contents)
				require.NoError(t, err)
			}
			require.NoError(t, write(b.dist, contents))
			require.NoError(t, keyOptions{throwaway: true}.sign(b.dist, b.version, io.Discard))
			_, err = verify(b.dist, filepath.Join(b.dist, throwawayFile))
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// A key made for one release proves nothing, as the output says in capitals.
func TestThrowaway(t *testing.T) {
	dir, key := testRelease(t)
	said, err := verify(dir, key)
	require.NoError(t, err)
	assert.Contains(t, said, provesNothing)
}

func TestKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "release.key")
	assert.ErrorContains(t, runKey([]string{file}, io.Discard), "RELEASE_KEY_PASSWORD")
	t.Setenv("RELEASE_KEY_PASSWORD", "correct horse")
	require.NoError(t, runKey([]string{file}, io.Discard))
	assert.Error(t, runKey([]string{file}, io.Discard), "it is there already")
	require.NoError(t, keyOptions{file: file}.check())
	b := testBuild(t)
	contents, err := b.describe(testArtifacts(t, b))
	require.NoError(t, err)
	require.NoError(t, write(b.dist, contents))
	require.NoError(t, keyOptions{file: file}.sign(b.dist, b.version, io.Discard))
	said, err := verify(b.dist, file+".pub")
	require.NoError(t, err)
	assert.NotContains(t, said, provesNothing)
	t.Setenv("RELEASE_KEY_PASSWORD", "another")
	assert.ErrorContains(t, keyOptions{file: file}.check(), "password", "known before all is built")
}

func TestSign(t *testing.T) {
	assert.ErrorContains(t, keyOptions{}.check(), "say how to sign")
	assert.ErrorContains(t, keyOptions{file: "x", throwaway: true}.check(), "say how to sign")

	public, secret, err := minisign.GenerateKey(nil)
	require.NoError(t, err)
	text, err := secret.MarshalText()
	require.NoError(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, sumsFile), []byte("sums"), 0o644))
	require.NoError(t, keyOptions{file: file}.sign(dir, "v1.2.3", io.Discard))
	signature, err := os.ReadFile(filepath.Join(dir, signatureFile))
	require.NoError(t, err)
	assert.True(t, minisign.Verify(public, []byte("sums"), signature))
	require.NoError(t, keyOptions{file: file}.sign(dir, "v1.2.3", io.Discard))
	again, err := os.ReadFile(filepath.Join(dir, signatureFile))
	require.NoError(t, err)
	assert.Equal(t, signature, again, "one key gives one signature")
}

// TestSignWithPassword takes seconds: the password's hash is slow on purpose.
func TestSignWithPassword(t *testing.T) {
	long(t)
	_, secret, err := minisign.GenerateKey(nil)
	require.NoError(t, err)
	encrypted, err := minisign.EncryptKey("password", secret)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, encrypted, 0o600))
	t.Setenv("RELEASE_KEY_PASSWORD", "wrong")
	_, err = secretKey(file)
	assert.ErrorContains(t, err, "RELEASE_KEY_PASSWORD")
	t.Setenv("RELEASE_KEY_PASSWORD", "password")
	key, err := secretKey(file)
	require.NoError(t, err)
	assert.True(t, key.Equal(secret))
}

// long skips a slow test unless all are requested.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("TOOLHOST_TEST_ALL") == "" {
		t.Skip("takes long; set TOOLHOST_TEST_ALL=1 to run it")
	}
}

func TestSizes(t *testing.T) {
	assert.NoError(t, checkSizes([]file{{path: name, data: make([]byte, maxProgram)}}, make([]byte, maxArchive)))
	assert.ErrorContains(t, checkSizes([]file{{path: name, data: make([]byte, maxProgram+1)}}, nil), "toolhost for linux/amd64")
	assert.ErrorContains(t, checkSizes(nil, make([]byte, maxArchive+1)), "the archive for linux/amd64")
	assert.Empty(t, nearLimits([]file{{path: name, data: make([]byte, maxProgram/20*19)}}, nil))
	assert.Len(t, nearLimits([]file{{path: name, data: make([]byte, maxProgram)}}, make([]byte, maxArchive)), 2)
}

func TestVersions(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3+x", "latest"} {
		b := build{version: version, dist: t.TempDir()}
		assert.ErrorContains(t, b.resolve(context.Background(), ""), "is not a version", version)
	}
}

func TestParseSums(t *testing.T) {
	sum := strings.Repeat("0", 64)
	for _, text := range []string{sum + " a\n", "00  a\n", sum + "  ../a\n", sum + "  a\n" + sum + "  a\n"} {
		_, err := parseSums([]byte(text))
		assert.ErrorContains(t, err, "invalid line", text)
	}
	list, err := parseSums(sums(map[string][]byte{"b": nil, "a": []byte("x")}))
	require.NoError(t, err)
	assert.Len(t, list, 2)
}

// An artifact that would write elsewhere is refused.
func TestWriteFilesStaysInside(t *testing.T) {
	assert.ErrorContains(t, writeFiles(t.TempDir(), []file{{path: "../x"}}), "outside")
}
