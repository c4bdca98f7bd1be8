package pack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"

	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRoundTrip(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(from, "a", "b"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(from, "a", "b", "run.sh"), []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "empty"), nil, 0o600))
	require.NoError(t, os.Symlink("b/run.sh", filepath.Join(from, "a", "link")))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(from, "outside")))
	var first, second bytes.Buffer
	require.NoError(t, Make(from, &first, DefaultLimits))
	require.NoError(t, Make(from, &second, DefaultLimits))
	assert.Equal(t, first.Bytes(), second.Bytes(), "equal trees give equal packs")

	require.NoError(t, Unpack(to, &first, DefaultLimits))
	data, err := os.ReadFile(filepath.Join(to, "a", "link"))
	require.NoError(t, err)
	assert.Equal(t, "#!/bin/sh\n", string(data))
	info, err := os.Stat(filepath.Join(to, "a", "b", "run.sh"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode())
	assert.NoFileExists(t, filepath.Join(to, "outside"))
}

func poisoned(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for _, h := range entries {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		h.Mode = 0o644
		require.NoError(t, w.WriteHeader(&h))
		_, err := io.CopyN(w, zeros{}, h.Size)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, packed.Close())
	return out.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestPoisonedPacks(t *testing.T) {
	link := func(name, target string) tar.Header {
		return tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}
	}
	for name, entries := range map[string][]tar.Header{
		"above":              {{Name: "../escaped", Size: 1}},
		"above later":        {{Name: "a/../../escaped", Size: 1}},
		"absolute":           {{Name: "/tmp/escaped", Size: 1}},
		"nothing":            {{Name: ".", Typeflag: tar.TypeDir}},
		"NUL free backslash": {{Name: `a\b`, Size: 1}},
		"link to root":       {link("a", "/")},
		"link above":         {link("a", "../..")},
		"through a link":     {link("a", "b"), link("b", "."), {Name: "a/../../x", Size: 1}},
		"hard link":          {{Name: "a", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}},
		"device":             {{Name: "a", Typeflag: tar.TypeBlock}},
		"pipe":               {{Name: "a", Typeflag: tar.TypeFifo}},
		"twice":              {{Name: "a", Size: 1}, {Name: "a", Size: 1}},
		"a file over a link": {{Name: "t", Size: 1}, link("a", "t"), {Name: "a", Size: 1}},
		"a bomb":             {{Name: "a", Size: 11 << 20}},
		"many bombs":         {{Name: "a", Size: 6 << 20}, {Name: "b", Size: 6 << 20}},
		"too many":           {{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}, {Name: "f"}},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "a", "workspace")
			require.NoError(t, os.MkdirAll(dir, 0o700))
			err := Unpack(dir, bytes.NewReader(poisoned(t, entries...)), Limits{Bytes: 10 << 20, Entries: 5})
			require.ErrorIs(t, err, ErrPoisoned)
			left, err := filepath.Glob(filepath.Join(top, "*"))
			require.NoError(t, err)
			assert.Equal(t, []string{filepath.Join(top, "a")}, left)
		})
	}
}

func TestNoPack(t *testing.T) {
	require.ErrorIs(t, Unpack(t.TempDir(), strings.NewReader("no pack"), DefaultLimits), ErrPoisoned)
}
