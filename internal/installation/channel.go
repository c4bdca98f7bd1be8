// Package installation is what toolhost knows of how it was installed: by which
// channel, where its helper programs are and whether they belong to it, and
// which line adds what is missing.
package installation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// Name is how a toolhost was installed.
type Name string

// The channels. Those of packages are written by the release into the file
// "channel" beside the helper programs; the others follow from the build.
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

// Channel is how the running program was installed.
type Channel struct {
	Name    Name
	Package string // by which a package manager knows it
	File    string // the marker that says so, "" for none
}

// packageName is what may stand in a command line that people are shown.
var packageName = regexp.MustCompile(`^@?[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// markerName is the file in the directory of the helper programs.
const markerName = "channel"

// Installed tells how the running program was installed. A marker that cannot be
// read is an error, and the channel is unknown then.
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

// readMarker reads "CHANNEL" or "CHANNEL PACKAGE".
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
	if len(words) == 2 && packageName.MatchString(words[1]) {
		c.Package = words[1]
	}
	return c, nil
}

// Describe says how it was installed, for people.
func (c Channel) Describe() string {
	switch c.Name {
	case GoInstall:
		return "by go install"
	case Clone:
		return "built from a clone"
	case Embedded:
		return "part of another program"
	case Unknown:
		return "not known: built without git, and no package"
	case Archive:
		return "from an archive"
	case Image:
		return "in a container image"
	case MCPB:
		return "as an MCP bundle"
	}
	return fmt.Sprintf("as the %s package %s", c.Name, c.Package)
}

// Restore says what gives this toolhost a helper program of its own version.
func (c Channel) Restore(program string) string {
	info := buildinfo.Read()
	const line = "go install github.com/toolhost/toolhost/cmd/%s@%s"
	switch c.Name {
	case GoInstall, Embedded:
		at := info.Version
		if !info.Released() {
			at = "latest"
		}
		return fmt.Sprintf("Run `"+line+"`.", program, at)
	case Clone:
		return fmt.Sprintf("Run `make build` in the clone of toolhost, or `go install ./cmd/%s` there.", program)
	case Deb:
		return fmt.Sprintf("Install the package %s %s again: `sudo apt-get install --reinstall %s`, or dpkg -i with its file.",
			c.Package, info.Version, c.Package)
	case RPM:
		return fmt.Sprintf("Install the package %s %s again: `sudo dnf reinstall %s`, or rpm --reinstall with its file.",
			c.Package, info.Version, c.Package)
	case NPM:
		return fmt.Sprintf("Run `npm install -g %s@%s`.", c.Package, strings.TrimPrefix(info.Version, "v"))
	case Homebrew:
		return fmt.Sprintf("Run `brew reinstall %s`.", c.Package)
	case Image:
		return fmt.Sprintf("Use the image of version %s as it is; it has all programs of toolhost.", info.Version)
	case MCPB:
		return fmt.Sprintf("Install the bundle of version %s again.", info.Version)
	case Archive:
		return fmt.Sprintf("Unpack the whole archive of version %s, with its directory libexec.", info.Version)
	}
	return fmt.Sprintf("Run `"+line+"`, or `make build` in toolhost's source, and keep it beside toolhost.", program,
		"latest")
}

// Remove says how the programs themselves are removed.
func (c Channel) Remove() string {
	self, err := os.Executable()
	if err != nil {
		self = "toolhost"
	}
	switch c.Name {
	case Deb:
		return fmt.Sprintf("Remove those with `sudo apt-get remove %s`.", c.Package)
	case RPM:
		return fmt.Sprintf("Remove those with `sudo rpm -e %s`.", c.Package)
	case NPM:
		return fmt.Sprintf("Remove those with `npm uninstall -g %s`.", c.Package)
	case Homebrew:
		return fmt.Sprintf("Remove those with `brew uninstall %s`.", c.Package)
	case Image:
		return "Remove the image."
	case MCPB:
		return "Remove the bundle in the client."
	case Archive:
		return fmt.Sprintf("Delete the directory of the archive: %s is in it.", self)
	}
	return fmt.Sprintf("Delete %s, and toolhost-task, toolhost-architect and toolhost-otel beside it.", self)
}

// Update says how a newer version takes the place of this one.
func (c Channel) Update(version string) string {
	switch c.Name {
	case GoInstall:
		var lines []string
		for _, program := range append([]string{"toolhost"}, helpersFound()...) {
			lines = append(lines, fmt.Sprintf("go install github.com/toolhost/toolhost/cmd/%s@%s", program, version))
		}
		return strings.Join(lines, "\n")
	case Clone:
		return fmt.Sprintf("In the clone: git fetch --tags, git checkout %s, make build.", version)
	case Embedded:
		return "Update the module github.com/toolhost/toolhost in the program that it is part of."
	case Deb:
		return fmt.Sprintf("Install the package %s %s: `sudo apt-get install ./FILE.deb`.", c.Package, version)
	case RPM:
		return fmt.Sprintf("Install the package %s %s: `sudo rpm -U FILE.rpm`.", c.Package, version)
	case NPM:
		return fmt.Sprintf("npm install -g %s@%s", c.Package, strings.TrimPrefix(version, "v"))
	case Homebrew:
		return fmt.Sprintf("brew upgrade %s", c.Package)
	case Image:
		return fmt.Sprintf("Use the image of version %s.", version)
	case MCPB:
		return fmt.Sprintf("Install the bundle of version %s in the client.", version)
	}
	return fmt.Sprintf("Install version %s as this one was; docs/INSTALL.md has a line for each way.", version)
}

// helpersFound are the helpers that were found.
func helpersFound() (names []string) {
	for _, h := range Helpers() {
		if _, err := proc.LookSibling(h.Name, "."); err == nil {
			names = append(names, h.Name)
		}
	}
	return names
}
