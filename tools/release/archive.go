package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
)

// packed is the compression level. Its library is pinned in go.mod, so a newer Go does not change the bytes.
const packed = gzip.DefaultCompression

// tarFiles writes files as a tar: sorted, all of one time, owned by root unless they say otherwise.
func tarFiles(out io.Writer, files []file, at time.Time) error {
	files, err := sorted(files)
	if err != nil {
		return err
	}
	w := tar.NewWriter(out)
	for _, dir := range directories(files) {
		if _, own := find(files, dir); own {
			continue
		}
		header := tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
	}
	for _, f := range files {
		header := tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)),
			ModTime: at, Format: tar.FormatUSTAR}
		if f.mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		header.Uid, header.Gid = f.owner, f.owner
		if f.dir {
			header.Typeflag, header.Name = tar.TypeDir, f.path+"/"
		}
		if f.link != "" {
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, f.link, 0o777
		}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	return w.Close()
}

// tarGz returns a compressed tar. Its gzip header has neither name nor time.
func tarGz(files []file, at time.Time, level int) ([]byte, error) {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, level)
	if err != nil {
		return nil, err
	}
	if err := tarFiles(w, files, at); err != nil {
		return nil, err
	}
	err = w.Close()
	return buf.Bytes(), err
}

// zipped returns a zip: sorted, all of one time, with Unix modes.
func zipped(files []file, at time.Time, level int) ([]byte, error) {
	files, err := sorted(files)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, level) })
	for _, f := range files {
		header := zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(fs.FileMode(f.mode.Perm()))
		entry, err := w.CreateHeader(&header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.data); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return buf.Bytes(), err
}
