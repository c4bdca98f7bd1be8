package install

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/toolhost/toolhost/host/proc"
	"github.com/toolhost/toolhost/host/tool"
)

// build tests and builds a Go module into dir. The go command and the module's
// tests run confined: they may change only the directory above dir.
func (in *Installer) build(ctx context.Context, source, dir string, skipTests bool) (*content, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(source)
	if !strings.HasPrefix(name, "toolhost-plugin-") {
		name = "toolhost-plugin-" + name
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
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
	return &content{dir: dir, built: true}, nil
}

// goCommand runs the go command in dir, without the network: modules come from
// the user's cache. What it makes goes below work.
func (in *Installer) goCommand(ctx context.Context, dir, work string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	if errors.Is(cmd.Err, exec.ErrNotFound) {
		return tool.Errorf(tool.CommandNotFound, "the go command is missing").Suggest("Install Go from https://go.dev, or install a program that is built.")
	}
	cmd.Dir = dir
	cmd.Env = proc.Environ(map[string]string{
		"GOWORK": "off", "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": strings.TrimSpace(os.Getenv("GOFLAGS") + " -modcacherw"),
	})
	if in.Confine == nil {
		return tool.Errorf(tool.Unavailable, "a Go module is built confined, and nothing confines it here").Suggest("Set Installer.Confine.")
	}
	if err := in.Confine(cmd, work, append(moduleCache(ctx, work), repositoryAt(dir))...); err != nil {
		return err
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	for _, file := range cmd.ExtraFiles {
		_ = file.Close()
	}
	out := output.String()
	switch {
	case err != nil && strings.Contains(out, "GOPROXY=off"):
		return tool.Errorf(tool.Unavailable, "go %s needs modules that are not on this machine, and it runs without the network:\n%s", args[0], strings.TrimSpace(out)).
			Suggest("Fetch them with go mod download in %s, which runs nothing of the module, and install again.", dir)
	case err != nil:
		return tool.Errorf(tool.CommandFailed, "go %s failed in %s: %w\n%s", args[0], dir, err, strings.TrimSpace(out)).
			Suggest("Mend what it says and install again.")
	}
	return nil
}

// moduleCache is where the user's modules are.
func moduleCache(ctx context.Context, dir string) []string {
	cmd := exec.CommandContext(ctx, "go", "env", "GOMODCACHE")
	cmd.Dir = dir
	out, err := cmd.Output()
	if path := strings.TrimSpace(string(out)); err == nil && path != "" {
		return []string{path}
	}
	return nil
}

// repositoryAt is the repository that a directory lies in, or the directory: a
// module may name others beside it.
func repositoryAt(dir string) string {
	for at := dir; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if exists(filepath.Join(at, ".git")) {
			return at
		}
	}
	return dir
}
