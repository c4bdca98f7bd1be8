// Package buildinfo returns toolhost's version and the commit that it was built from.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Builds without git, from an archive, can set these:
//
//	go build -ldflags "-X github.com/toolhost/toolhost/internal/buildinfo.version=v1.2.3"
var version, commit, date string

const (
	modulePath  = "github.com/toolhost/toolhost"
	fleetPath   = modulePath + "/fleet" // the module of toolhost-hub, in the same repository
	development = "(devel)"             // an unknown version
)

// Info describes a build. Unknown fields are empty; an unknown version is "(devel)".
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`
	// Modified is set if files were changed since the commit.
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read returns what was set at build time, or else what Go has recorded. In a
// program that embeds toolhost the version is the module's, and the commit is
// unknown.
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

// recorded fills in what was not set at build time.
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

func ours(build *debug.BuildInfo) bool {
	return build.Main.Path == modulePath || build.Main.Path == fleetPath
}

// dependency returns the version of a module that a program was built with, ""
// for a directory that replaces it.
func dependency(m *debug.Module) string {
	if m.Replace != nil {
		return m.Replace.Version
	}
	return m.Version
}

// settings fills in what Go recorded from git.
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
