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

	"github.com/toolhost/toolhost/host/tool"
)

// build tests and builds a Go module of the user's own into dir. It runs the
// go command, and the module's tests, unconfined.
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
		if err := goCommand(ctx, source, args...); err != nil {
			return nil, err
		}
	}
	return &content{dir: dir, built: true}, nil
}

func goCommand(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return tool.Errorf(tool.CommandNotFound, "the go command is missing").Suggest("Install Go from https://go.dev, or install a program that is built.")
	case err != nil:
		return tool.Errorf(tool.CommandFailed, "go %s failed in %s: %w\n%s", args[0], dir, err, strings.TrimSpace(out.String())).
			Suggest("Mend what it says and install again.")
	}
	return nil
}
