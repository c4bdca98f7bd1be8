// Package scaffold writes a new plugin: a Go module that builds, with a test and a README.
package scaffold

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/realpath"
)

//go:embed templates
var templates embed.FS

// module is the module path of toolhost and its SDK.
const module = "github.com/toolhost/toolhost"

// Options configures Write.
type Options struct {
	// Name is the plugin's name: a letter, then letters, digits, _ and -.
	Name string
	// Dir is the directory to write, empty or missing. By default it is ./NAME.
	Dir string
	// Module is the Go module's path, by default made of the name.
	Module string
	// SDK is a checkout of toolhost whose SDK is used, through a replace line; by default a published version is
	// used.
	SDK string
	// Version is the published SDK's version, such as "v1.2.0".
	Version string
}

// Write writes the module and returns its directory. It runs the go command: to list what a checkout's SDK
// needs, or to download a published one. The error is a *tool.Error.
func Write(ctx context.Context, options Options) (dir string, err error) {
	if !regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`).MatchString(options.Name) {
		return "", tool.Errorf(tool.InvalidArgument, "%q is not a valid plugin name", options.Name).
			Suggest("Use a lower-case letter, then up to 39 lower-case letters, digits, _ and -.")
	}
	if options.Dir == "" {
		options.Dir = options.Name
	}
	if options.Module == "" {
		options.Module = "example.org/toolhost-plugin-" + options.Name
	}
	if err := emptyDir(options.Dir); err != nil {
		return "", err
	}
	_, missing := os.Stat(options.Dir)
	defer func() {
		if err != nil {
			takeBack(options.Dir, missing != nil)
		}
	}()
	if err := writeFiles(options); err != nil {
		return "", tool.Errorf(tool.Unavailable, "%s cannot be written: %w", options.Dir,
			err).Suggest("Make the directory writable, or name another.")
	}
	if options.SDK != "" {
		return options.Dir, fromCheckout(ctx, options)
	}
	return options.Dir, published(ctx, options)
}

func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case filepath.IsLocal(dir) && !realpath.Within(dir, "."):
		return tool.Errorf(tool.PathOutsideWorkspace, "%s is not written: a symlink leads out of this directory", dir).
			Suggest("Name the directory that it leads to, or remove the symlink if you do not know it.")
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return tool.Errorf(tool.Unavailable, "%s cannot be used: %w", dir, err).Suggest("Name another directory.")
	case len(entries) > 0:
		return tool.Errorf(tool.AlreadyExists, "%s is not empty",
			dir).Suggest("Name another directory, or remove what is there.")
	}
	return nil
}

// takeBack removes what was written into an empty or missing directory, so that Write can be repeated.
func takeBack(dir string, all bool) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
	if all {
		_ = os.Remove(dir)
	}
}

func writeFiles(options Options) error {
	// Not text/template: it keeps the linker from dropping unused methods.
	fill := strings.NewReplacer("{{.Name}}", options.Name,
		"{{.Tool}}", strings.ReplaceAll(options.Name, "-", "_")+"_greet")
	if err := os.MkdirAll(options.Dir, 0o777); err != nil {
		return err
	}
	for source, name := range map[string]string{
		"main.go.tmpl": "main.go", "main_test.go.tmpl": "main_test.go", "README.md.tmpl": "README.md",
		"gitignore.tmpl": ".gitignore",
	} {
		text, err := templates.ReadFile("templates/" + source)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(options.Dir, name), []byte(fill.Replace(string(text))),
			0o666); err != nil {
			return err
		}
	}
	return nil
}

// fromCheckout uses a checkout's SDK. Its dependencies are in its go.mod and go.sum, so nothing is downloaded.
func fromCheckout(ctx context.Context, options Options) error {
	sdk, err := filepath.Abs(options.SDK)
	if err != nil {
		return err
	}
	own, err := os.ReadFile(filepath.Join(sdk, "go.mod"))
	if err != nil || !bytes.Contains(own, []byte("module "+module+"\n")) {
		return tool.Errorf(tool.InvalidArgument, "%s is not a checkout of toolhost",
			options.SDK).Suggest("Name the directory that holds toolhost's go.mod.")
	}
	needed, err := needs(ctx, sdk)
	if err != nil {
		return err
	}
	var mod strings.Builder
	fmt.Fprintf(&mod, "module %s\n\ngo %s\n\nrequire %s v0.0.0\n\nrequire (\n", options.Module, goVersion(own), module)
	for _, requirement := range needed {
		fmt.Fprintf(&mod, "\t%s // indirect\n", requirement)
	}
	fmt.Fprintf(&mod, ")\n\nreplace %s => %s\n", module, quoted(sdk))
	sums, err := os.ReadFile(filepath.Join(sdk, "go.sum"))
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(options.Dir, "go.mod"), []byte(mod.String()), 0o666),
		os.WriteFile(filepath.Join(options.Dir, "go.sum"), sums, 0o666))
}

// quoted returns a path for go.mod, quoted if necessary.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\"'(){},;") {
		return fmt.Sprintf("%q", path)
	}
	return path
}

func goVersion(mod []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(mod))
	for lines.Scan() {
		if version, ok := strings.CutPrefix(lines.Text(), "go "); ok {
			return version
		}
	}
	return "1.26"
}

// needs lists the modules, "path version", that the SDK and its tests need.
func needs(ctx context.Context, sdk string) ([]string, error) {
	out, err := run(ctx, sdk, "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}",
		"./plugins/sdk", "./plugins/sdk/plugintest")
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func published(ctx context.Context, options Options) error {
	for _, args := range [][]string{
		{"mod", "init", options.Module},
		{"get", module + "@" + options.Version},
		{"mod", "tidy"},
	} {
		if _, err := run(ctx, options.Dir, args...); err != nil {
			return tool.AsError(err).With("version", options.Version)
		}
	}
	return nil
}

// run runs the go command. The error has its whole output.
func run(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", tool.Errorf(tool.CommandNotFound,
			"the go command is missing").Suggest("Install Go from https://go.dev and run this again in an empty directory.")
	case err != nil:
		return "", tool.Errorf(tool.CommandFailed, "go %s failed in %s: %w\n%s", strings.Join(args, " "), dir, err,
			strings.TrimSpace(complaints.String())).
			Suggest("Fix what it says. To use an SDK that is not published, name a checkout of toolhost with --sdk DIR.")
	}
	return out.String(), nil
}
