package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/blakesmith/ar"
	"github.com/klauspost/compress/gzip"
	"github.com/sassoftware/go-rpmutils"
)

const maxUnpacked = 2 << 30 // bytes

// readArtifact returns the files of an archive, package, bundle or image; an image's below os-arch.
func readArtifact(file string) ([]file, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	files, err := unpack(file, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Base(file), err)
	}
	return files, nil
}

func unpack(name string, data []byte) ([]file, error) {
	switch {
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"):
		return untarGz(data)
	case strings.HasSuffix(name, ".zip"), strings.HasSuffix(name, ".mcpb"):
		return unzip(data)
	case strings.HasSuffix(name, ".deb"):
		return undeb(data)
	case strings.HasSuffix(name, ".rpm"):
		return unrpm(data)
	case strings.HasSuffix(name, ".oci.tar"):
		return unimage(data)
	}
	return nil, errors.New("not an artifact of a release that holds files")
}

func untarGz(data []byte) ([]file, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return untar(r)
}

func untar(in io.Reader) ([]file, error) {
	r := tar.NewReader(io.LimitReader(in, maxUnpacked))
	var files []file
	for {
		header, err := r.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		f := file{path: strings.TrimPrefix(path.Clean("/"+header.Name), "/"), mode: header.FileInfo().Mode().Perm()}
		switch header.Typeflag {
		case tar.TypeReg:
			if f.data, err = io.ReadAll(r); err != nil {
				return nil, err
			}
		case tar.TypeSymlink:
			f.link = header.Linkname
		default:
			continue
		}
		files = append(files, f)
	}
}

func unzip(data []byte) ([]file, error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var files []file
	for _, entry := range r.File {
		if entry.Mode().IsDir() {
			continue
		}
		in, err := entry.Open()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(in, maxUnpacked))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: entry.Name, mode: entry.Mode().Perm(), data: content})
	}
	return files, nil
}

func undeb(data []byte) ([]file, error) {
	r := ar.NewReader(bytes.NewReader(data))
	for {
		header, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("no data.tar.gz: %w", err)
		}
		if strings.TrimRight(header.Name, "/") != "data.tar.gz" {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		return untarGz(content)
	}
}

func unrpm(data []byte) ([]file, error) {
	r, err := rpmutils.ReadRpm(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	payload, err := r.PayloadReaderExtended()
	if err != nil {
		return nil, err
	}
	var files []file
	for {
		info, err := payload.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		mode := fs.FileMode(info.Mode() & 0o777)
		f := file{path: strings.TrimPrefix(path.Clean("/"+info.Name()), "/"), mode: mode}
		switch info.Mode() & 0o170000 {
		case 0o100000:
			if f.data, err = io.ReadAll(payload); err != nil {
				return nil, err
			}
		case 0o120000:
			f.link = info.Linkname()
		default:
			continue
		}
		files = append(files, f)
	}
}

type descriptor struct {
	Digest   string
	Platform *struct{ OS, Architecture string }
}

func unimage(data []byte) ([]file, error) {
	layout, err := untar(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var index struct{ Manifests []descriptor }
	top, _ := find(layout, "index.json")
	if err := json.Unmarshal(top.data, &index); err != nil {
		return nil, err
	}
	var files []file
	for _, image := range index.Manifests {
		var machines struct{ Manifests []descriptor }
		if err := json.Unmarshal(blob(layout, image.Digest), &machines); err != nil {
			return nil, err
		}
		for _, d := range machines.Manifests {
			content, err := layers(layout, d)
			if err != nil {
				return nil, err
			}
			files = append(files, content...)
		}
	}
	return files, nil
}

func layers(layout []file, d descriptor) (files []file, err error) {
	var manifest struct{ Layers []descriptor }
	if err := json.Unmarshal(blob(layout, d.Digest), &manifest); err != nil {
		return nil, err
	}
	if d.Platform == nil {
		return nil, errors.New("a manifest names no platform")
	}
	for _, layer := range manifest.Layers {
		content, err := untarGz(blob(layout, layer.Digest))
		if err != nil {
			return nil, err
		}
		files = append(files, prefixPaths(d.Platform.OS+"-"+d.Platform.Architecture, content)...)
	}
	return files, nil
}

func blob(layout []file, digest string) []byte {
	f, _ := find(layout, "blobs/"+strings.ReplaceAll(digest, ":", "/"))
	return f.data
}
