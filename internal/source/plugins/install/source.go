package install

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/versions"
)

// maxDownload bounds an archive, in bytes.
const maxDownload = 256 << 20

// content is a plugin's fetched files, not yet examined.
type content struct {
	dir       string // of the files
	file      []byte // the signed archive or program
	fileName  string
	signature []byte // or nil
	version   string // from the layout, or ""
}

func isURL(source string) bool { return strings.Contains(source, "://") }

func expand(source, version, platform string) string {
	system, arch, _ := strings.Cut(platform, "_")
	return strings.NewReplacer("{version}", version, "{os}", system, "{arch}", arch).Replace(source)
}

func (in *Installer) fetch(ctx context.Context, r Request, dir string) (*content, error) {
	source := expand(r.Source, r.Version, Platform())
	if isURL(source) {
		return in.fetchURL(ctx, source, dir)
	}
	info, err := os.Stat(source)
	switch {
	case err != nil:
		return nil, tool.Errorf(tool.NotFound, "there is no plugin at %s: %w", source, err).
			Suggest("Give the path of a program, a directory or an archive, or an https address.")
	case !info.IsDir():
		return fetchFile(source, dir)
	case exists(filepath.Join(source, "go.mod")):
		return in.build(ctx, source, dir, r.SkipTests)
	}
	if layout := versionsIn(source); len(layout) > 0 {
		return fetchLayout(r, source, layout, dir, in.limit())
	}
	return &content{dir: dir}, copyTree(source, dir, in.limit())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (in *Installer) fetchURL(ctx context.Context, source, dir string) (*content, error) {
	u, err := url.Parse(source)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "%s is not an https address",
			source).Suggest("Plugins are fetched over https only.")
	}
	c := &content{dir: dir, fileName: path.Base(u.Path)}
	if !isArchive(c.fileName) {
		return nil, tool.Errorf(tool.InvalidArgument, "%s is not an archive",
			source).Suggest("Its name has to end in .tar.gz, .tgz or .zip.")
	}
	if c.file, err = in.get(ctx, source); err != nil {
		return nil, err
	}
	u.Path += ".minisig"
	if signature, err := in.get(ctx, u.String()); err == nil {
		c.signature = signature
	} else if tool.CodeOf(err) != tool.NotFound {
		return nil, err
	}
	return c, nil
}

// get fetches a file. A missing one is not_found.
func (in *Installer) get(ctx context.Context, address string) ([]byte, error) {
	r, err := in.Client.Fetch(ctx, netguard.Request{URL: address, MaxBytes: maxDownload})
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(r.URL, "https://") {
		return nil, tool.Errorf(tool.Blocked, "%s led to %s, which is not https", address,
			r.URL).Suggest("Ask the author of the plugin for another address.")
	}
	switch {
	case r.StatusCode == 404 || r.StatusCode == 403 || r.StatusCode == 410:
		return nil, tool.Errorf(tool.NotFound, "there is nothing at %s (status %d)", address,
			r.StatusCode).Suggest("Check the address and the version.")
	case r.StatusCode/100 != 2:
		return nil, tool.Errorf(tool.Unavailable, "%s answered with status %d", address,
			r.StatusCode).Suggest("Try again later.")
	}
	return r.Body, nil
}

func fetchFile(source, dir string) (*content, error) {
	c := &content{dir: dir, fileName: filepath.Base(source)}
	var err error
	if c.file, err = os.ReadFile(source); err != nil {
		return nil, err
	}
	if signature, err := os.ReadFile(source + ".minisig"); err == nil {
		c.signature = signature
	}
	return c, nil
}

// versionsIn lists the versions of a directory that has one directory for each.
func versionsIn(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var all []string
	for _, e := range entries {
		if versions.Valid(e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all
}

// fetchLayout copies the newest acceptable version from VERSION/PLATFORM, VERSION/PLATFORM.tar.gz or
// VERSION/any.
func fetchLayout(r Request, source string, layout []string, dir string, limit int64) (*content, error) {
	version := r.Version
	if version == "" {
		version = r.Constraint.Newest(layout)
	}
	if version == "" {
		return nil, tool.Errorf(tool.NotFound, "no version in %s is %s", source, r.Constraint).Suggest("There are: %s.",
			strings.Join(layout, ", "))
	}
	path, err := layoutPath(source, version, Platform())
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	c := &content{dir: dir}
	if info.IsDir() {
		err = copyTree(path, dir, limit)
	} else {
		c, err = fetchFile(path, dir)
	}
	if c != nil {
		c.version = version
	}
	return c, err
}

func layoutPath(source, version, platform string) (string, error) {
	for _, name := range []string{platform, "any"} {
		for _, suffix := range []string{"", ".tar.gz", ".tgz", ".zip"} {
			if path := filepath.Join(source, version, name+suffix); exists(path) {
				return path, nil
			}
		}
	}
	return "", tool.Errorf(tool.NotFound, "%s has nothing for %s", filepath.Join(source, version), platform).
		Suggest("Ask the plugin's author for a build for this platform.")
}

// packageFile describes a plugin of several files.
const packageFile = "toolhost-plugin.json"

type packaged struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Program is the program's slash path; Programs has it by platform instead.
	Program  string            `json:"program"`
	Programs map[string]string `json:"programs"`
}

// program finds the program in a plugin's files, as a path below dir.
func (c *content) program() (string, packaged, error) {
	dir, p := c.dir, packaged{}
	data, err := os.ReadFile(filepath.Join(dir, packageFile))
	if errors.Is(err, os.ErrNotExist) {
		name, err := onlyProgram(dir)
		return name, p, err
	}
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return "", p, tool.Errorf(tool.InvalidArgument, "%s cannot be read: %w", packageFile,
			err).Suggest("Ask the plugin's author for a release that is whole.")
	}
	name := p.Program
	for _, platform := range []string{"any", Platform()} {
		if own := p.Programs[platform]; own != "" {
			name = own
		}
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) || !isProgram(filepath.Join(dir, filepath.FromSlash(name))) {
		return "", p, tool.Errorf(tool.NotFound, "%s names no program for %s: %q", packageFile, Platform(), name).
			Suggest("Ask the plugin's author for a build for this platform.")
	}
	return name, p, nil
}

// onlyProgram finds the program if no file names it.
func onlyProgram(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if (strings.HasPrefix(e.Name(), "toolhost-plugin-") || len(entries) == 1) &&
			isProgram(filepath.Join(dir, e.Name())) {
			found = append(found, e.Name())
		}
	}
	if len(found) != 1 {
		return "", tool.Errorf(tool.InvalidArgument,
			"it is not clear which file is the program: there are %d named toolhost-plugin-*", len(found)).
			Suggest(`Put a %s beside them: {"name": "NAME", "version": "1.0.0", "program": "PATH"}.`, packageFile)
	}
	return found[0], nil
}

func isProgram(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// unwrap enters an archive's single top directory.
func (c *content) unwrap() {
	entries, err := os.ReadDir(c.dir)
	if err == nil && len(entries) == 1 && entries[0].IsDir() {
		c.dir = filepath.Join(c.dir, entries[0].Name())
	}
}
