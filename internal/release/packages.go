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
	_ "github.com/goreleaser/nfpm/v2/deb" // a packager
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // another
)

//go:embed templates/toolhost@.service
var unit []byte

const unitPath = "lib/systemd/user/toolhost@.service"

// systemPackage makes a deb or an rpm, and gives its file name.
func (b *build) systemPackage(kind string, p platform, common []file) (name string, data []byte, err error) {
	dir, err := os.MkdirTemp(b.temp, kind+"-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(dir)
	info, err := b.packageInfo(kind, p, common, dir)
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

func (b *build) packageInfo(kind string, p platform, common []file, dir string) (*nfpm.Info, error) {
	list, err := sorted(packageFiles(b.installed(p, kind+" "+name), common))
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
	return nfpm.WithDefaults(&nfpm.Info{
		Name: name, Arch: p.arch, Platform: p.os, Version: number(b.version), Release: "1", Section: "devel",
		Priority: "optional", Maintainer: maintainer, Vendor: author, Description: summary + "\n" + description,
		Homepage: homepage, License: license, MTime: b.time, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents, Recommends: []string{"git", "ripgrep"},
			Deb: nfpm.Deb{Compression: compression},
			RPM: nfpm.RPM{Compression: compression, BuildHost: "localhost", Summary: summary, Packager: maintainer}},
	}), nil
}

// packageFiles puts files where a system has them.
func packageFiles(installed, common []file) []file {
	var list []file
	for _, f := range append(append(installed, common...), file{path: unitPath, mode: 0o644, data: unit}) {
		switch {
		case f.path == "LICENSE":
			f.path = "share/doc/toolhost/copyright"
		case !strings.Contains(f.path, "/"):
			f.path = "share/doc/toolhost/" + f.path
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
