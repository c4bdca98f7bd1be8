package installation

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/buildinfo"
)

func TestFits(t *testing.T) {
	const one, other = "0123456789abcdef0123456789abcdef01234567", "fedcba9876543210fedcba9876543210fedcba98"
	const pseudo = "v0.0.0-20261122100000-0123456789ab" // of commit one
	tests := []struct {
		name        string
		own, helper buildinfo.Info
		want        bool
	}{
		{"the same release", buildinfo.Info{Version: "v0.1.0"}, buildinfo.Info{Version: "v0.1.0"}, true},
		{"an older helper", buildinfo.Info{Version: "v0.2.0"}, buildinfo.Info{Version: "v0.1.0"}, false},
		{"a newer helper", buildinfo.Info{Version: "v0.1.0"}, buildinfo.Info{Version: "v0.1.1"}, false},
		{"a pre-release", buildinfo.Info{Version: "v0.1.0"}, buildinfo.Info{Version: "v0.1.0-rc.1"}, false},
		{"a release and a development build", buildinfo.Info{Version: "v0.1.0"}, buildinfo.Info{Version: "(devel)"},
			false},
		{"a release and one with changes", buildinfo.Info{Version: "v0.1.0", Commit: one},
			buildinfo.Info{Version: "v0.1.0", Commit: one, Modified: true}, false},
		{"a release and what was built after it", buildinfo.Info{Version: "v0.1.0", Commit: one},
			buildinfo.Info{Version: "v0.1.1-0.20261122100000-fedcba987654", Commit: other}, false},
		{"a tag that was moved", buildinfo.Info{Version: "v0.1.0", Commit: one},
			buildinfo.Info{Version: "v0.1.0", Commit: other}, false},
		{"one that does not know its commit", buildinfo.Info{Version: "v0.1.0", Commit: one},
			buildinfo.Info{Version: "v0.1.0"}, true},
		{"nothing is known", buildinfo.Info{Version: "(devel)"}, buildinfo.Info{Version: "(devel)"}, true},
		{"a test program and a release", buildinfo.Info{Version: "(devel)"},
			buildinfo.Info{Version: "v0.1.0", Commit: one}, true},
		{"two commits of a clone", buildinfo.Info{Version: pseudo, Commit: one},
			buildinfo.Info{Version: "v0.0.0-20261122100000-fedcba987654", Commit: other}, true},
		{"a clone with changes and its release", buildinfo.Info{Version: "v0.1.0+dirty", Commit: one, Modified: true},
			buildinfo.Info{Version: "v0.1.0", Commit: one}, true},
		{"a clone and a release of another commit", buildinfo.Info{Version: pseudo, Commit: one},
			buildinfo.Info{Version: "v0.1.0", Commit: other}, false},
		{"a clone and a release of a commit that is not known", buildinfo.Info{Version: pseudo, Commit: one},
			buildinfo.Info{Version: "v0.1.0"}, false},
		{"a clone and its commit by go install", buildinfo.Info{Version: pseudo, Commit: one},
			buildinfo.Info{Version: pseudo}, true},
		{"two commits by go install", buildinfo.Info{Version: pseudo},
			buildinfo.Info{Version: "v0.0.0-20261122100000-fedcba987654"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, Fits(tt.own, tt.helper)) })
	}
}

func TestMarker(t *testing.T) {
	tests := []struct {
		text string
		want Channel
		bad  bool
	}{
		{"deb\n", Channel{Name: Deb, Package: "toolhost"}, false},
		{"npm @toolhost/toolhost\n", Channel{Name: NPM, Package: "@toolhost/toolhost"}, false},
		{"npm --registry=x\n", Channel{Name: NPM, Package: "toolhost"}, false},
		{"archive", Channel{Name: Archive, Package: "toolhost"}, false},
		{"", Channel{Name: Unknown}, true},
		{"floppy\n", Channel{Name: Unknown}, true},
		{"go install\n", Channel{Name: Unknown}, true},
		{"deb toolhost more\n", Channel{Name: Unknown}, true},
	}
	for _, tt := range tests {
		file := filepath.Join(t.TempDir(), markerName)
		require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o600))
		got, err := readMarker(file)
		tt.want.File = file
		assert.Equal(t, tt.want, got, tt.text)
		assert.Equal(t, tt.bad, err != nil, tt.text)
	}
}

func TestEveryChannelSaysWhatAddsAHelper(t *testing.T) {
	for _, name := range append(packaged, GoInstall, Clone, Embedded, Unknown) {
		c := Channel{Name: name, Package: "the-package"}
		assert.NotEmpty(t, c.Describe(), name)
		assert.Regexp(t, `the-package|toolhost-task|image|bundle|archive`, c.Restore(Task), name)
		assert.Regexp(t, `toolhost-hub|make build`, c.Restore(Hub), name)
		for _, text := range []string{c.Describe(), c.Restore(Task), c.Restore(Hub)} {
			assert.NotEmpty(t, text, name)
			assert.NotRegexp(t, `PROGRAM|PACKAGE|VERSION|NUMBER`, text, name)
		}
	}
	assert.Contains(t, Channel{Name: GoInstall}.Restore(Task),
		"`go install github.com/toolhost/toolhost/cmd/toolhost-task@")
}

// A program on PATH with a helper's name is started only if it is that helper.
func TestImpostors(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	self, err := os.Executable()
	require.NoError(t, err)
	data, err := os.ReadFile(self)
	require.NoError(t, err)
	for name, text := range map[string][]byte{
		"a script":        []byte("#!/bin/sh\ntouch " + filepath.Join(dir, "ran") + "\n"),
		"another program": data,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, OTel.Name), text, 0o755))
		found, err := OTel.Inspect("")
		failed := tool.AsError(err)
		require.NotNil(t, failed, name)
		assert.Equal(t, tool.Unavailable, failed.Code, name)
		assert.Contains(t, failed.Message, "cannot be used", name)
		assert.NotEmpty(t, failed.Suggestion, name)
		assert.Equal(t, filepath.Join(dir, OTel.Name), found.Path, name)
	}
	assert.NoFileExists(t, filepath.Join(dir, "ran"))
}
