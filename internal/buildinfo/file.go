package buildinfo

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// VersionJSON is the argument by which each program of toolhost says which
// build it is, as JSON.
const VersionJSON = "--version=json"

// Answer writes which build this is where args ask for it and nothing else. It
// reports whether they did.
func Answer(args []string, program string, out io.Writer) bool {
	if len(args) != 1 {
		return false
	}
	switch args[0] {
	case VersionJSON:
		_ = json.NewEncoder(out).Encode(Read())
	case "--version":
		_, _ = io.WriteString(out, Read().Text(program))
	default:
		return false
	}
	return true
}

// Text is the build for people.
func (i Info) Text(program string) string {
	text := fmt.Sprintf("%s %s (%s, %s)\n", program, i.Version, i.Go, i.Platform)
	if i.Commit == "" {
		return text + "commit unknown (built without git)\n"
	}
	if i.Modified {
		return text + fmt.Sprintf("commit %s, with changes that were not committed\nof %s\n", i.Commit, i.Date)
	}
	return text + fmt.Sprintf("commit %s\nof %s\n", i.Commit, i.Date)
}

// ReadFile gives what Go has recorded in the file of one of toolhost's
// programs, and the program's name. What was set at build time is not there.
func ReadFile(file string) (Info, string, error) {
	build, err := buildinfo.ReadFile(file)
	if err != nil {
		return Info{}, "", err
	}
	if !ours(build) {
		return Info{}, "", fmt.Errorf("%s is a program of %s", file, build.Main.Path)
	}
	info := Info{Version: development, Go: build.GoVersion, Platform: platform(build)}
	if v := build.Main.Version; v != "" {
		info.Version = v
	}
	info.settings(build)
	return info, path.Base(build.Path), nil
}

func platform(build *debug.BuildInfo) string {
	values := make(map[string]string)
	for _, setting := range build.Settings {
		values[setting.Key] = setting.Value
	}
	return values["GOOS"] + "/" + values["GOARCH"]
}

// Stamped reports whether the version of this program was set at build time, so
// that its file does not show it.
func Stamped() bool { return version != "" }

// Origin is where a program came from, as far as Go knows it.
type Origin string

// The origins.
const (
	Installed Origin = "go install" // MODULE/cmd/toolhost@VERSION
	Clone     Origin = "clone"      // built where git was
	Embedded  Origin = "embedded"   // another program that imports toolhost
	Unknown   Origin = ""           // built without git, or with a version that was set
)

// From tells where this program came from.
func From() Origin {
	build, ok := debug.ReadBuildInfo()
	switch {
	case !ok || Stamped():
		return Unknown
	case !ours(build):
		return Embedded
	}
	switch info := read(build); {
	case info.Commit != "":
		return Clone
	case semver.IsValid(info.Version):
		return Installed
	}
	return Unknown
}

// Released reports whether the version names one content: a tag, or a commit
// that Go has fetched. What is built in a clone between two tags, or with
// changes, is none.
func (i Info) Released() bool {
	return semver.IsValid(i.Version) && !i.Modified && !strings.Contains(semver.Build(i.Version), "dirty") &&
		(i.Commit == "" || !module.IsPseudoVersion(i.Version))
}

// Revision is the commit, or the beginning of its name, "" where it is not
// known.
func (i Info) Revision() string {
	if i.Commit == "" && module.IsPseudoVersion(i.Version) {
		rev, _ := module.PseudoVersionRev(i.Version)
		return rev
	}
	return i.Commit
}
