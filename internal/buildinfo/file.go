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

// VersionJSON is the argument that makes each program of toolhost print its build as JSON.
const VersionJSON = "--version=json"

// Answer prints the build if args ask for it and nothing else. It reports whether they did.
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

// Text returns the build for people.
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

// ReadFile returns what Go has recorded in the file of one of toolhost's
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

// Stamped reports whether this program's version was set at build time, so that
// its file does not show it.
func Stamped() bool { return version != "" }

// Origin is how a program was built, as far as Go knows.
type Origin string

const (
	Installed Origin = "go install" // MODULE/cmd/toolhost@VERSION
	Clone     Origin = "clone"      // built with git
	Embedded  Origin = "embedded"   // another program that imports toolhost
	Unknown   Origin = ""           // built without git, or with a version set
)

// From returns this program's origin.
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

// Released reports whether the version identifies one content: a tag, or a
// commit that Go has fetched. A build in a clone between two tags, or with
// changes, does not.
func (i Info) Released() bool {
	return semver.IsValid(i.Version) && !i.Modified && !strings.Contains(semver.Build(i.Version), "dirty") &&
		(i.Commit == "" || !module.IsPseudoVersion(i.Version))
}

// Revision returns the commit's hash or its start, "" if unknown.
func (i Info) Revision() string {
	if i.Commit == "" && module.IsPseudoVersion(i.Version) {
		rev, _ := module.PseudoVersionRev(i.Version)
		return rev
	}
	return i.Commit
}
