package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-task/task/v3"
	taskerrors "github.com/go-task/task/v3/errors"
	"github.com/go-task/task/v3/taskfile/ast"
	"go.yaml.in/yaml/v4"
)

// checkVersion asks go-task whether it supports the Taskfile's schema version. Only an executor's set-up tells,
// which would run commands that compute variables: so it gets a Taskfile with only the version.
func checkVersion(location string, merged *ast.Taskfile) error {
	if merged.Version.Equal(ast.V3) {
		return nil
	}
	dir, err := os.MkdirTemp("", "toolhost-task-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	entry := filepath.Join(dir, "Taskfile.yml")
	content := fmt.Sprintf("version: %q\ntasks: {}\n", merged.Version)
	if err := os.WriteFile(entry, []byte(content), 0o600); err != nil {
		return err
	}
	err = task.NewExecutor(
		task.WithDir(dir), task.WithEntrypoint(entry), task.WithOffline(true),
		task.WithVersionCheck(true), task.WithStdout(io.Discard), task.WithStderr(io.Discard),
	).Setup()
	var refused *taskerrors.TaskfileVersionCheckError
	if errors.As(err, &refused) {
		refused.URI = location
		return refused
	}
	return err
}

func versionLine(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	var document yaml.Node
	if yaml.Unmarshal(data, &document) != nil || len(document.Content) == 0 {
		return 0
	}
	for i, node := range document.Content[0].Content {
		if i%2 == 0 && node.Value == "version" {
			return node.Line
		}
	}
	return 0
}
