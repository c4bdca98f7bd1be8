package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the image's user, as in distroless images.
const nobody = 65532

func (b *build) imageName() string { return fmt.Sprintf("%s_%s.oci.tar", name, number(b.version)) }

// image returns an OCI layout in a tar: one image by name, for each Linux.
func (b *build) image(common []file) ([]byte, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range b.targets() {
		if p.os != "linux" {
			continue
		}
		img, err := b.imageFor(p, common)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", p, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: p.os, Architecture: p.arch}}})
	}
	dir, err := os.MkdirTemp(b.temp, "image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	images, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return nil, err
	}
	reference := map[string]string{"org.opencontainers.image.ref.name": imageName + ":" + number(b.version)}
	if err := images.AppendIndex(index, layout.WithAnnotations(reference)); err != nil {
		return nil, err
	}
	files, err := readFiles(dir)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	err = tarFiles(&buf, files, b.time)
	return buf.Bytes(), err
}

func (b *build) imageFor(p platform, common []file) (v1.Image, error) {
	content, err := tarGz(b.rootFS(p, common), b.time, b.level())
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Author: author, Created: v1.Time{Time: b.time}, CreatedBy: name + " " + b.version}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created, config.Author = p.os, p.arch, v1.Time{Time: b.time}, author
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", nobody, nobody), WorkingDir: "/workspace",
		Entrypoint: []string{"/usr/bin/toolhost"}, Cmd: []string{"serve"},
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/toolhost"},
		Labels: map[string]string{
			"org.opencontainers.image.title": name, "org.opencontainers.image.description": summary,
			"org.opencontainers.image.version": number(b.version), "org.opencontainers.image.revision": b.commit,
			"org.opencontainers.image.source": homepage, "org.opencontainers.image.licenses": license,
			"io.modelcontextprotocol.server.name": mcpName,
		},
	}
	return mutate.ConfigFile(img, config)
}

// rootFS returns the image's content: toolhost, certificates, a user, and directories that it can
// write. There is no shell.
func (b *build) rootFS(p platform, common []file) []file {
	files := prefixPaths("usr", b.installed(p, "image"))
	for _, f := range common {
		switch f.path {
		case "LICENSE":
			files = append(files, file{path: "usr/share/doc/toolhost/copyright", mode: 0o644, data: f.data})
		case licensesFile:
			files = append(files, file{path: "usr/share/doc/toolhost/" + f.path, mode: 0o644, data: f.data})
		}
	}
	passwd := fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\ntoolhost:x:%d:%d:toolhost:/home/toolhost:/sbin/nologin\n",
		nobody, nobody)
	group := fmt.Sprintf("root:x:0:\ntoolhost:x:%d:\n", nobody)
	return append(files,
		file{path: "etc/passwd", mode: 0o644, data: []byte(passwd)},
		file{path: "etc/group", mode: 0o644, data: []byte(group)},
		file{path: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: certificates()},
		file{path: "home/toolhost", mode: 0o755, dir: true, owner: nobody},
		file{path: "workspace", mode: 0o755, dir: true, owner: nobody},
		file{path: "tmp", mode: 0o777 | os.ModeSticky, dir: true},
	)
}

// certificates returns Mozilla's authorities without those that need further rules.
func certificates() []byte {
	var buf bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&buf, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return buf.Bytes()
}

// readFiles returns the files below dir, readable by all.
func readFiles(dir string) ([]file, error) {
	var list []file
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		list = append(list, file{path: filepath.ToSlash(rel), mode: 0o644, data: data})
		return err
	})
	return list, err
}
