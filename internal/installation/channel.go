// Package installation knows how toolhost was installed: by which channel,
// where its helper programs are and whether they belong to it, and which
// command adds what is missing.
package installation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// Name is a way of installation.
type Name string

// The channels. A release writes those of packages into the file "channel"
// beside the helper programs; the others follow from the build.
const (
	Archive   Name = "archive"
	Deb       Name = "deb"
	RPM       Name = "rpm"
	NPM       Name = "npm"
	Homebrew  Name = "homebrew"
	Image     Name = "image"
	MCPB      Name = "mcpb"
	GoInstall Name = "go install"
	Clone     Name = "clone"
	Embedded  Name = "embedded"
	Unknown   Name = "unknown"
)

var packaged = []Name{Archive, Deb, RPM, NPM, Homebrew, Image, MCPB}

// Channel says how the running program was installed.
type Channel struct {
	Name    Name
	Package string // a package manager's name of it
	File    string // the marker file, "" if none
}

// packageName matches what may be shown in a command line.
var packageName = regexlimit.Lazy(`^@?[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// markerName is a file in the directory of the helper programs.
const markerName = "channel"

// Installed returns how the running program was installed. A marker that cannot
// be read is an error; the channel is then unknown.
func Installed() (Channel, error) {
	for _, dir := range proc.Libexec() {
		file := filepath.Join(dir, markerName)
		c, err := readMarker(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return c, err
	}
	switch buildinfo.From() {
	case buildinfo.Installed:
		return Channel{Name: GoInstall}, nil
	case buildinfo.Clone:
		return Channel{Name: Clone}, nil
	case buildinfo.Embedded:
		return Channel{Name: Embedded}, nil
	}
	return Channel{Name: Unknown}, nil
}

// readMarker parses "CHANNEL" or "CHANNEL PACKAGE".
func readMarker(file string) (Channel, error) {
	unknown := Channel{Name: Unknown, File: file}
	text, err := os.ReadFile(file)
	if err != nil {
		return unknown, err
	}
	words := strings.Fields(string(text))
	if len(words) < 1 || len(words) > 2 || !slices.Contains(packaged, Name(words[0])) {
		return unknown, fmt.Errorf("%s does not name a channel", file)
	}
	c := Channel{Name: Name(words[0]), Package: "toolhost", File: file}
	if len(words) == 2 && packageName().MatchString(words[1]) {
		c.Package = words[1]
	}
	return c, nil
}

// Describe returns a description for people.
func (c Channel) Describe() string { return c.fill(ways[c.Name].describe) }

// Restore returns what to do to get a helper program of this version.
func (c Channel) Restore(h Helper) string {
	text := ways[c.Name].restore
	if add := ways[c.Name].add; h.Apart && add != "" {
		text = add
	}
	info := buildinfo.Read()
	version := info.Version
	if c.Name == Unknown || (c.Name == GoInstall || c.Name == Embedded) && !info.Released() {
		version = "latest"
	}
	return c.fill(text, "PROGRAM", h.Name, "VERSION", version, "NUMBER", strings.TrimPrefix(version, "v"))
}

func (c Channel) fill(text string, pairs ...string) string {
	return strings.NewReplacer(append(pairs, "PACKAGE", c.Package)...).Replace(text)
}
