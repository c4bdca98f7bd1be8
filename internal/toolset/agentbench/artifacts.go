package agentbench

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// saveArtifact writes a file below the call's artifact directory, at the slash path name, and
// returns where it is; nil without a directory.
//
// The directory may be in the workspace, where commands can create symbolic links; so nothing
// is written through them, and no link leads out of the workspace.
func saveArtifact(ws *workspace.Workspace, call *tool.Call, kind, name string, data []byte) (*tool.Artifact, error) {
	if call.ArtifactDir == "" {
		return nil, nil
	}
	base, rel := artifactPlace(ws, call.ArtifactDir, name)
	if base == call.ArtifactDir {
		if err := os.MkdirAll(base, 0o777); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := writeNew(root, rel, data); err != nil {
		return nil, err
	}
	shown := filepath.ToSlash(rel)
	if base == call.ArtifactDir {
		shown = filepath.Join(base, rel)
	}
	return &tool.Artifact{Name: kind, Path: shown, Bytes: int64(len(data))}, nil
}

// artifactPlace returns the directory to open, the workspace's if the artifacts are in it, and the
// path from there.
func artifactPlace(ws *workspace.Workspace, dir, name string) (base, rel string) {
	name = filepath.FromSlash(name)
	if inside, err := filepath.Rel(ws.Root(), dir); err == nil && filepath.IsLocal(inside) {
		return ws.Root(), filepath.Join(inside, name)
	}
	return dir, name
}

// writeNew writes a file, replacing any other of its name.
func writeNew(root *os.Root, name string, data []byte) error {
	if err := plainDirs(root, filepath.Dir(name)); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// plainDirs creates the directory and its parents, and refuses symbolic links among them.
func plainDirs(root *os.Root, dir string) error {
	if err := root.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for at := dir; at != "."; at = filepath.Dir(at) {
		info, err := root.Lstat(at)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: at, Err: errors.New("a symbolic link is in the way")}
		}
	}
	return nil
}

const artifactLimit = 64 << 20 // bytes

// readArtifact reads an earlier call's artifact by its name in the result.
func readArtifact(ws *workspace.Workspace, call *tool.Call, name string) ([]byte, bool) {
	clean := path.Clean(name)
	if call.ArtifactDir == "" || !strings.HasPrefix(clean, "logs/") && !strings.HasPrefix(clean, "diffs/") {
		return nil, false
	}
	if base, rel := artifactPlace(ws, call.ArtifactDir, clean); base == ws.Root() {
		data, _, err := ws.ReadFile(filepath.ToSlash(rel), artifactLimit)
		return data, err == nil
	}
	root, err := os.OpenRoot(call.ArtifactDir)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	f, err := plainfile.OpenIn(root, clean, os.O_RDONLY, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, artifactLimit))
	return data, err == nil
}
