package proc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInstalledWith looks for a helper in the layouts of toolhost's packages.
func TestInstalledWith(t *testing.T) {
	tests := []struct {
		name  string
		self  string // the directory of the running program
		files map[string]os.FileMode
		dirs  map[string]os.FileMode
		avoid string
		want  string
	}{
		{name: "a package", self: "usr/bin", files: map[string]os.FileMode{"usr/libexec/toolhost/h": 0o755},
			want: "usr/libexec/toolhost/h"},
		{name: "a directory of its own", self: "app", files: map[string]os.FileMode{"app/libexec/h": 0o755},
			want: "app/libexec/h"},
		{name: "beside", self: "gobin", files: map[string]os.FileMode{"gobin/h": 0o755}, want: "gobin/h"},
		{name: "libexec comes before beside", self: "usr/bin",
			files: map[string]os.FileMode{"usr/libexec/toolhost/h": 0o755, "usr/bin/h": 0o755},
			want:  "usr/libexec/toolhost/h"},
		{name: "libexec of another program", self: "usr/bin", files: map[string]os.FileMode{"usr/libexec/h": 0o755}},
		{name: "not from a directory called otherwise", self: "tmp/x",
			files: map[string]os.FileMode{"tmp/libexec/toolhost/h": 0o755}},
		{name: "not a program", self: "usr/bin", files: map[string]os.FileMode{"usr/libexec/toolhost/h": 0o644}},
		{name: "libexec that others can write", self: "tmp/bin",
			files: map[string]os.FileMode{"tmp/libexec/toolhost/h": 0o755},
			dirs:  map[string]os.FileMode{"tmp/libexec/toolhost": 0o777}},
		{name: "its parent that others can write", self: "tmp/bin",
			files: map[string]os.FileMode{"tmp/libexec/toolhost/h": 0o755},
			dirs:  map[string]os.FileMode{"tmp/libexec": 0o775}},
		{name: "a group that can write all of it", self: "app/bin",
			files: map[string]os.FileMode{"app/libexec/toolhost/h": 0o755},
			dirs:  map[string]os.FileMode{"app/bin": 0o775, "app/libexec": 0o775, "app/libexec/toolhost": 0o775},
			want:  "app/libexec/toolhost/h"},
		{name: "libexec in the workspace", self: "ws/bin", avoid: "ws",
			files: map[string]os.FileMode{"ws/libexec/toolhost/h": 0o755, "ws/bin/libexec/h": 0o755}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(root, tt.self), 0o755))
			for path, mode := range tt.files {
				path = filepath.Join(root, path)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, nil, mode))
				require.NoError(t, os.Chmod(path, mode))
			}
			for path, mode := range tt.dirs {
				require.NoError(t, os.Chmod(filepath.Join(root, path), mode))
			}
			avoid := tt.avoid
			if avoid != "" {
				avoid = filepath.Join(root, avoid)
			}
			got := installedWith(filepath.Join(root, tt.self), "h", avoid)
			if tt.want == "" {
				assert.Empty(t, got)
				return
			}
			assert.Equal(t, filepath.Join(root, tt.want), got)
		})
	}
}
