package install

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// build tests and builds a Go module into dir. The go command and the module's tests run confined: they may change
// only the parent of dir.
func (in *Installer) build(ctx context.Context, source, dir string, skipTests bool) (*content, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(source)
	if !strings.HasPrefix(name, "toolhost-plugin-") {
		name = "toolhost-plugin-" + name
	}
	steps := [][]string{{"test", "./..."}, {"build", "-o", filepath.Join(dir, name), "."}}
	if skipTests {
		steps = steps[1:]
	}
	for _, args := range steps {
		in.say("go %s", args[0])
		if err := in.goCommand(ctx, source, filepath.Dir(dir), args...); err != nil {
			return nil, err
		}
	}
	return &content{dir: dir}, nil
}

// goCommand runs the go command in dir without the network: modules come from the user's cache, and its build cache
// is separate. It writes below work.
func (in *Installer) goCommand(ctx context.Context, dir, work string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	if errors.Is(cmd.Err, exec.ErrNotFound) {
		return tool.Errorf(tool.CommandNotFound,
			"the go command is missing").Suggest("Install Go from https://go.dev, or install a program that is built.")
	}
	cmd.Dir = dir
	cmd.Env = proc.Environ(map[string]string{
		"GOWORK": "off", "GOTOOLCHAIN": "local", "GOPROXY": "off",
		"GOFLAGS": strings.TrimSpace(os.Getenv("GOFLAGS") + " -modcacherw"),
	})
	if in.Confine == nil {
		return tool.Errorf(tool.Unavailable,
			"a Go module is built confined, and nothing confines it here").Suggest("Set Installer.Confine.")
	}
	read := slices.Concat(goEnv(ctx, work, "GOMODCACHE"), replacements(dir), []string{repositoryAt(dir)})
	if err := in.Confine(cmd, Room{Write: work, Read: read, Hide: goEnv(ctx, work, "GOCACHE")}); err != nil {
		return err
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	runtime.LockOSThread() // a confined program is killed when the thread that started it ends
	err := cmd.Run()
	runtime.UnlockOSThread()
	for _, file := range cmd.ExtraFiles {
		_ = file.Close()
	}
	out := output.String()
	switch {
	case err != nil && strings.Contains(out, "GOPROXY=off"):
		return tool.Errorf(tool.Unavailable,
			"go %s needs modules that are not on this machine, and it runs without the network:\n%s", args[0],
			strings.TrimSpace(out)).
			Suggest("Run `go mod download` in %s, then install again. It only downloads, and runs no code of the module.", dir)
	case err != nil:
		return tool.Errorf(tool.CommandFailed, "go %s failed in %s: %w\n%s", args[0], dir, err, strings.TrimSpace(out)).
			Suggest("Fix what it says and install again.")
	}
	return nil
}

// goEnv returns a directory of the user's go command, if any.
func goEnv(ctx context.Context, dir, name string) []string {
	cmd := exec.CommandContext(ctx, "go", "env", name)
	cmd.Dir = dir
	out, err := cmd.Output()
	if path := strings.TrimSpace(string(out)); err == nil && path != "" {
		return []string{path}
	}
	return nil
}

// replacements returns the directories that replace modules in a go.mod, if they hold those modules.
func replacements(dir string) (dirs []string) {
	for _, r := range goMod(dir).Replace {
		path := r.New.Path
		if r.New.Version != "" {
			continue // in the module cache
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if m := goMod(path).Module; m != nil && m.Mod.Path == r.Old.Path {
			dirs = append(dirs, path)
		}
	}
	return dirs
}

// goMod reads a directory's go.mod; empty if unreadable.
func goMod(dir string) *modfile.File {
	name := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return new(modfile.File)
	}
	file, err := modfile.Parse(name, data, nil)
	if err != nil {
		return new(modfile.File)
	}
	return file
}

// repositoryAt returns the repository around a directory, or the directory: a module may refer to others
// beside it.
func repositoryAt(dir string) string {
	for at := dir; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if exists(filepath.Join(at, ".git")) {
			return at
		}
	}
	return dir
}
