package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
)

// sums returns SHA256SUMS, in sha256sum's form.
func sums(contents map[string][]byte) []byte {
	var buf bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		fmt.Fprintf(&buf, "%s  %s\n", digest(contents[name]), name)
	}
	return buf.Bytes()
}

// parseSums parses it: names of files in the same directory, each once.
func parseSums(text []byte) (map[string]string, error) {
	list := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if _, again := list[name]; !ok || again || len(sum) != 64 || name != filepath.Base(name) || name == "." {
			return nil, fmt.Errorf("%s has an invalid line: %q", sumsFile, line)
		}
		list[name] = sum
	}
	return list, nil
}

// release is a release whose signature and sums are right.
type release struct {
	contents map[string][]byte // all but SHA256SUMS and its signature
	sums     []byte
	made     statement
}

// verify checks a whole release, and returns its findings. It trusts nothing in dir that the key
// does not sign.
func verify(dir, key string) (string, error) {
	r, err := open(dir, key)
	if err != nil {
		return "", err
	}
	if err := r.checkProvenance(); err != nil {
		return "", err
	}
	checked, err := r.checkSBOMs()
	if err != nil {
		return "", err
	}
	definition := r.made.Predicate.BuildDefinition
	warning := ""
	if public, err := publicKey(key); err == nil && madeForItself(dir, public) {
		warning = "\n" + provesNothing
	}
	return fmt.Sprintf("%s %s is as it was signed: %d files, %d SBOMs that say what is in them, built from commit %s with %s.",
		name, definition.ExternalParameters.Version, len(r.contents), checked, r.made.commit(),
		definition.InternalParameters.Go) + warning, nil
}

// open reads the files that the signed sums name.
func open(dir, key string) (*release, error) {
	public, err := publicKey(key)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return nil, err
	}
	signature, err := os.ReadFile(filepath.Join(dir, signatureFile))
	if err != nil {
		return nil, err
	}
	if !minisign.Verify(public, text, signature) {
		return nil, fmt.Errorf("%s was not signed by the key %016X, or was changed since; do not use these files",
			sumsFile, public.ID())
	}
	want, err := parseSums(text)
	if err != nil {
		return nil, err
	}
	r := &release{contents: make(map[string][]byte), sums: text}
	for name, sum := range want {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is missing here: all files of the release are verified together", name)
		}
		if err != nil {
			return nil, err
		}
		if digest(data) != sum {
			return nil, fmt.Errorf("%s was changed: its SHA-256 is not that of %s; do not use it", name, sumsFile)
		}
		r.contents[name] = data
	}
	if err := strangers(dir, want); err != nil {
		return nil, err
	}
	r.made, err = parseProvenance(r.contents[provenanceFile])
	return r, err
}

func strangers(dir string, known map[string]string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	unsigned := []string{sumsFile, signatureFile, throwawayFile}
	for _, e := range entries {
		if _, ok := known[e.Name()]; !ok && !slices.Contains(unsigned, e.Name()) {
			return fmt.Errorf("%s is not part of the release: %s does not name it", e.Name(), sumsFile)
		}
	}
	return nil
}

func (r *release) checkProvenance() error {
	stated := make(map[string]string)
	for _, s := range r.made.Subject {
		stated[s.Name] = s.Digest["sha256"]
	}
	for name, data := range r.contents {
		if name == provenanceFile {
			continue
		}
		if stated[name] != digest(data) {
			return fmt.Errorf("%s does not state how %s was built", provenanceFile, name)
		}
		delete(stated, name)
	}
	if len(stated) > 0 {
		return fmt.Errorf("%s names files that are missing: %s", provenanceFile, strings.Join(slices.Sorted(maps.Keys(stated)), ", "))
	}
	return nil
}

// checkSBOMs makes each SBOM again from its artifact's programs.
func (r *release) checkSBOMs() (checked int, err error) {
	definition := r.made.Predicate.BuildDefinition
	at, err := time.Parse(time.RFC3339, definition.InternalParameters.CommitTime)
	if err != nil {
		return 0, err
	}
	for name, data := range r.contents {
		if !holdsFiles(name) {
			continue
		}
		have, ok := r.contents[name+sbomSuffix]
		if !ok {
			return 0, fmt.Errorf("%s has no SBOM", name)
		}
		files, err := unpack(name, data)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		want, err := sbom(name, definition.ExternalParameters.Version, at, data, files)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		if !bytes.Equal(have, want) {
			return 0, fmt.Errorf("%s does not say what is in %s", name+sbomSuffix, name)
		}
		checked++
	}
	return checked, nil
}

func write(dist string, contents map[string][]byte) error {
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	for name, data := range contents {
		if err := os.WriteFile(filepath.Join(dist, name), data, 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dist, sumsFile), sums(contents), 0o644); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dist, signatureFile)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has a signature already", dist)
	}
	return nil
}
