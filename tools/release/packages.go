package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers deb
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers rpm
)

//go:embed templates/toolhost@.service
var unit []byte

// apparmor is a profile that allows toolhost's user namespaces where a system
// restricts them; packages' scripts load and remove it.
//
//go:embed templates/apparmor
var apparmor []byte

//go:embed templates/postinstall.sh
var postInstall []byte

//go:embed templates/postremove.sh
var postRemove []byte

const (
	unitPath     = "lib/systemd/user/toolhost@.service"
	apparmorPath = "share/toolhost/apparmor"
)

// forLinux returns the files that only Linux uses.
func forLinux() []file {
	return []file{{path: unitPath, mode: 0o644, data: unit}, {path: apparmorPath, mode: 0o644, data: apparmor}}
}

type systemPackage struct {
	name, summary, description string
	files                      []file // below usr
	needs                      string // another package of exactly this version
}

func (b *build) systemPackages(kind string, p platform, common []file) []systemPackage {
	own := append(append(b.installed(p, kind+" "+name), common...), forLinux()...)
	return []systemPackage{
		{name: name, summary: summary, description: description, files: packageFiles(name, own)},
		{name: hub, summary: hubSummary, description: hubDescription, needs: name,
			files: packageFiles(hub, append(b.fleet(p), texts(common)...))},
	}
}

// systemPackage makes a deb or an rpm, and returns its file name.
func (b *build) systemPackage(kind string, p platform, pkg systemPackage) (name string, data []byte, err error) {
	dir, err := os.MkdirTemp(b.temp, kind+"-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(dir)
	info, err := b.packageInfo(kind, p, pkg, dir)
	if err != nil {
		return "", nil, err
	}
	packager, err := nfpm.Get(kind)
	if err != nil {
		return "", nil, err
	}
	var buf bytes.Buffer
	if err := packager.Package(info, &buf); err != nil {
		return "", nil, fmt.Errorf("%s for %s: %w", kind, p, err)
	}
	return packager.ConventionalFileName(info), buf.Bytes(), nil
}

func (b *build) packageInfo(kind string, p platform, pkg systemPackage, dir string) (*nfpm.Info, error) {
	list, err := sorted(pkg.files)
	if err != nil {
		return nil, err
	}
	if err := writeFiles(dir, list); err != nil {
		return nil, err
	}
	contents := files.Contents{&files.Content{Destination: "/usr/libexec/toolhost", Type: files.TypeDir,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: b.time}}}
	for _, f := range list {
		contents = append(contents, &files.Content{Source: filepath.Join(dir, f.path), Destination: "/" + f.path,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: b.time}})
	}
	compression := fmt.Sprintf("gzip:%d", b.level())
	overridables := nfpm.Overridables{Contents: contents, Recommends: []string{"git", "ripgrep"},
		Deb: nfpm.Deb{Compression: compression},
		RPM: nfpm.RPM{Compression: compression, BuildHost: "localhost", Summary: pkg.summary, Packager: maintainer}}
	if pkg.name == name {
		scripts := []file{{path: "postinstall", mode: 0o755, data: postInstall}, {path: "postremove", mode: 0o755, data: postRemove}}
		if err := writeFiles(filepath.Join(dir, "scripts"), scripts); err != nil {
			return nil, err
		}
		overridables.Scripts = nfpm.Scripts{PostInstall: filepath.Join(dir, "scripts", "postinstall"),
			PostRemove: filepath.Join(dir, "scripts", "postremove")}
	}
	if pkg.needs != "" {
		overridables.Recommends, overridables.Depends = nil, []string{sameVersion(kind, pkg.needs, b.version)}
	}
	return nfpm.WithDefaults(&nfpm.Info{
		Name: pkg.name, Arch: p.arch, Platform: p.os, Version: number(b.version), Release: packageRelease, Section: "devel",
		Priority: "optional", Maintainer: maintainer, Vendor: author, Description: pkg.summary + "\n" + pkg.description,
		Homepage: homepage, License: license, MTime: b.time, DisableGlobbing: true, Overridables: overridables,
	}), nil
}

// packageRelease is the number of the package of a version. Each version is packaged once.
const packageRelease = "1"

// sameVersion requires another package of the same version, in the kind's syntax: a tilde sorts a
// pre-release before its version.
func sameVersion(kind, pkg, version string) string {
	exact := strings.Replace(number(version), "-", "~", 1) + "-" + packageRelease
	if kind == "deb" {
		return fmt.Sprintf("%s (= %s)", pkg, exact)
	}
	return fmt.Sprintf("%s = %s", pkg, exact)
}

func packageFiles(pkg string, files []file) (list []file) {
	for _, f := range files {
		switch {
		case f.path == "LICENSE":
			f.path = "share/doc/" + pkg + "/copyright"
		case !strings.Contains(f.path, "/"):
			f.path = "share/doc/" + pkg + "/" + f.path
		case strings.HasPrefix(f.path, "share/powershell/"):
			continue
		case strings.HasPrefix(f.path, "share/zsh/"):
			f.path = "share/zsh/vendor-completions/" + path.Base(f.path)
		}
		f.path = "usr/" + f.path
		list = append(list, f)
	}
	return list
}
