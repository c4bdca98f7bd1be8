package installation

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/module"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// Helper is a program of toolhost that its other programs need.
type Helper struct {
	Name    string // without ".exe"
	Purpose string // what needs it
	Apart   bool   // published separately, for those who need it
}

// The helper programs.
var (
	Task      = Helper{Name: "toolhost-task", Purpose: "runs Taskfile commands (list_commands, run_command and task)"}
	Architect = Helper{Name: "toolhost-architect", Purpose: "analyzes projects (the tool architect of the toolset ocode)"}
	Console   = Helper{Name: "toolhost-console", Purpose: "shows pending approvals and past calls in a browser (toolhost console)"}
	OTel      = Helper{Name: "toolhost-otel", Purpose: "sends traces if OTEL_EXPORTER_OTLP_ENDPOINT is set"}
	// Hub is for those who run a fleet.
	Hub = Helper{Name: "toolhost-hub", Purpose: "runs fleets (the commands hub, worker and fleet, and serve and console with --hub)",
		Apart: true}
)

// Helpers returns all of them.
func Helpers() []Helper { return []Helper{Task, Architect, Console, OTel, Hub} }

// Found is a helper's file and build.
type Found struct {
	Path  string
	Build buildinfo.Info
}

// Find returns the path of the helper, which is not searched in the directory
// avoid. A missing one, or one of another version, is an error of code
// unavailable that says what to do.
func (h Helper) Find(avoid string) (string, error) {
	found, err := h.Inspect(avoid)
	if err != nil {
		return "", err
	}
	return found.Path, nil
}

// Inspect is Find with the build, which is known even if the helper is refused because of it.
func (h Helper) Inspect(avoid string) (Found, error) {
	path, err := proc.LookSibling(h.Name, avoid)
	if _, own := os.Executable(); err != nil && own != nil {
		return Found{}, tool.Errorf(tool.Unavailable, "%s, which %s, is not on PATH, and toolhost's own path "+
			"cannot be determined: %w", h.Name, h.Purpose, own).Suggest("Mount proc on /proc.")
	}
	if err != nil {
		return Found{}, tool.Errorf(tool.Unavailable,
			"%s, which %s, was not found next to toolhost or on PATH", h.Name, h.Purpose).
			Suggest("%s", h.restore())
	}
	build, err := builds.of(path, h.Name)
	found := Found{Path: path, Build: build}
	if err != nil {
		return found, tool.Errorf(tool.Unavailable, "%s cannot be used: %w", path, err).Suggest("%s", h.restore())
	}
	if own := buildinfo.Read(); !Fits(own, build) {
		return found, tool.Errorf(tool.Unavailable,
			"%s is %s, and this toolhost is %s: programs of different versions do not work together",
			path, describe(build), describe(own)).
			Suggest("%s If toolhost was just upgraded, restart the server that runs.", h.restore())
	}
	return found, nil
}

func (h Helper) restore() string {
	c, _ := Installed()
	return c.Restore(h)
}

func describe(i buildinfo.Info) string {
	text := "version " + i.Version
	if i.Commit != "" && i.Released() {
		return text + " of commit " + i.Commit[:min(12, len(i.Commit))]
	}
	return text
}

// Fits reports whether a helper belongs to a toolhost. A released toolhost accepts only that of its
// version, and of its commit if both are known. A development build accepts every development build,
// since programs are built one after the other, and a released helper of the same commit, or any if
// its own commit is unknown. A development build of the same commit without changes always fits: the
// module of toolhost-hub has no version of its own.
func Fits(own, helper buildinfo.Info) bool {
	mine, its := own.Revision(), helper.Revision()
	same := mine == "" || its == "" || strings.HasPrefix(mine, its) || strings.HasPrefix(its, mine)
	switch {
	case own.Commit != "" && own.Commit == helper.Commit && !own.Modified && !helper.Modified &&
		(helper.Version == "(devel)" || module.IsPseudoVersion(helper.Version)):
		return true
	case own.Released():
		return helper.Version == own.Version && !helper.Modified && same
	case helper.Released() && mine != "":
		return its != "" && same
	}
	return true
}

// builds caches the builds of unchanged files.
var builds buildsOfFiles

type buildsOfFiles struct {
	mu    sync.Mutex
	known map[string]knownBuild
}

type knownBuild struct {
	file  os.FileInfo
	build buildinfo.Info
}

func (b *buildsOfFiles) of(path, name string) (buildinfo.Info, error) {
	file, err := os.Stat(path)
	if err != nil {
		return buildinfo.Info{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if k, ok := b.known[path]; ok && os.SameFile(k.file, file) && k.file.ModTime().Equal(file.ModTime()) &&
		k.file.Size() == file.Size() {
		return k.build, nil
	}
	build, err := buildOf(path, name)
	if err == nil {
		if b.known == nil {
			b.known = make(map[string]knownBuild)
		}
		b.known[path] = knownBuild{file, build}
	}
	return build, err
}

// buildOf reads a helper's build from its file. Only a toolhost whose version was
// set at build time runs the slower helper instead: the file does not show such a
// version.
func buildOf(path, name string) (buildinfo.Info, error) {
	build, is, err := buildinfo.ReadFile(path)
	if err != nil {
		return build, fmt.Errorf("it is not a program of toolhost: %w", err)
	}
	if is != name {
		return build, fmt.Errorf("it is the program %s", is)
	}
	if buildinfo.Stamped() || buildinfo.Read().Released() && !build.Released() {
		return ask(path)
	}
	return build, nil
}

func ask(path string) (build buildinfo.Info, err error) {
	ended, err := proc.Run(context.Background(), proc.Command{
		Argv: []string{path, buildinfo.VersionJSON}, Dir: filepath.Dir(path), Env: proc.Environ(nil),
		Timeout: 30 * time.Second,
	})
	if err != nil {
		return build, err
	}
	if err := json.Unmarshal([]byte(ended.Stdout.String()), &build); err != nil || build.Version == "" {
		return build, fmt.Errorf("it does not tell its version (exit code %d)", ended.ExitCode)
	}
	return build, nil
}
