package proc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// program returns the absolute path of the program, to report a missing one even if a launcher starts it.
func program(argv []string, dir string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", tool.Errorf(tool.InvalidArgument, "no program is given").
			Suggest("Give a program and its arguments.")
	}
	if dir != "" {
		if err := directory(dir); err != nil {
			return "", err
		}
	}
	if !filepath.IsAbs(argv[0]) {
		return LookPath(argv[0], "")
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return "", programError(argv[0], err)
	}
	return argv[0], nil
}

func directory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return tool.Errorf(tool.NotFound, "the working directory %s cannot be entered: %w", dir, err).
			Suggest("Name a directory that exists.")
	case !info.IsDir():
		return tool.Errorf(tool.NotADirectory, "the working directory %s is not a directory", dir).
			Suggest("Name a directory.")
	}
	return nil
}

// startRetrying starts the command. A program that was just written may still be open for writing in a process
// forked a moment ago.
func startRetrying(cmd *exec.Cmd) error {
	for pause := time.Millisecond; ; pause *= 2 {
		err := cmd.Start()
		if err == nil || !errors.Is(err, syscall.ETXTBSY) || pause > 100*time.Millisecond {
			return err
		}
		time.Sleep(pause)
		fresh := *cmd
		*cmd = exec.Cmd{
			Path: fresh.Path, Args: fresh.Args, Env: fresh.Env, Dir: fresh.Dir, Stdin: fresh.Stdin,
			Stdout: fresh.Stdout, Stderr: fresh.Stderr, ExtraFiles: fresh.ExtraFiles, SysProcAttr: fresh.SysProcAttr,
		}
	}
}

func startError(cmd *exec.Cmd, name string, err error) *tool.Error {
	if cmd.Path == name {
		return programError(name, err)
	}
	return tool.Errorf(tool.Unavailable, "the program %s does not start: %w", name, err).
		Suggest("Run `toolhost doctor` to see what this machine allows.")
}

func programError(name string, err error) *tool.Error {
	info, statErr := os.Stat(name)
	switch {
	case statErr == nil && info.IsDir():
		return tool.Errorf(tool.PermissionDenied, "%s is a directory, not a program", name).
			Suggest("Name a program.")
	case errors.Is(err, fs.ErrNotExist) && statErr == nil:
		return tool.Errorf(tool.CommandNotFound,
			"the program %s needs another one, its interpreter, which does not exist: %w", name, err).
			Suggest("Look at its first line (#!), or install what it needs.")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return tool.Errorf(tool.CommandNotFound, "the program %s does not exist: %w", name, err).
			Suggest("Install it, or correct the command in agent.hcl.")
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.PermissionDenied, "the program %s may not be run: %w", name, err).
			Suggest("Make it executable, or name another program.")
	case errors.Is(err, syscall.ENOEXEC):
		return tool.Errorf(tool.InvalidArgument, "%s is not a program that this machine can run: %w", name, err).
			Suggest("A script needs a first line such as #!/bin/sh.")
	case errors.Is(err, syscall.E2BIG):
		return tool.Errorf(tool.TooLarge, "the arguments and environment of %s are too long: %w", name, err).
			Suggest("Give fewer or shorter arguments, or pass the data in a file.")
	}
	return tool.Errorf(tool.Unavailable, "the program %s does not start: %w", name, err).
		Suggest("Run it by hand to see what is wrong.")
}
