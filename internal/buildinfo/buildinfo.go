// Package buildinfo says which toolhost this is: its version, and the commit
// that it was built from.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Anyone who builds without git, from an archive, can set these:
//
//	go build -ldflags "-X github.com/toolhost/toolhost/internal/buildinfo.version=v1.2.3"
var version, commit, date string

const (
	modulePath  = "github.com/toolhost/toolhost"
	fleetPath   = modulePath + "/fleet" // the module of toolhost-hub, of the same repository
	development = "(devel)"             // the version where none is known
)

// Info is what is known of a build. What is not known is empty, but for the
// version, which is "(devel)" then.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`
	// Modified is true where files were changed since the commit.
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read gives what was set at build time, or else what Go has recorded. In a
// program that embeds toolhost the version is that of the module, and the
// commit is not known.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = new(debug.BuildInfo)
	}
	return read(build)
}

func read(build *debug.BuildInfo) Info {
	info := Info{Version: version, Commit: commit, Date: date, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info.recorded(build)
	if info.Version == "" {
		info.Version = development
	}
	return info
}

// recorded fills in what was not set.
func (i *Info) recorded(build *debug.BuildInfo) {
	if !ours(build) {
		for _, dep := range build.Deps {
			if dep.Path == modulePath && i.Version == "" {
				i.Version = dependency(dep)
			}
		}
		return
	}
	if i.Version == "" {
		i.Version = build.Main.Version
	}
	if i.Commit == "" {
		i.settings(build)
	}
}

// ours reports whether the program is one of toolhost's own.
func ours(build *debug.BuildInfo) bool {
	return build.Main.Path == modulePath || build.Main.Path == fleetPath
}

// dependency is the version of a module that a program was built with: none for
// a directory that takes its place.
func dependency(m *debug.Module) string {
	if m.Replace != nil {
		return m.Replace.Version
	}
	return m.Version
}

// settings takes what Go found out from git.
func (i *Info) settings(build *debug.BuildInfo) {
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			i.Commit = setting.Value
		case "vcs.time":
			i.Date = setting.Value
		case "vcs.modified":
			i.Modified = setting.Value == "true"
		}
	}
}
