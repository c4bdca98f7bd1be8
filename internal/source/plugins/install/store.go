// Package install installs plugins from a program, a directory, a Go module or an archive, local or over https.
// They are installed for the user, by name, version and platform, for all projects.
package install

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/store/userdir"
	"github.com/toolhost/toolhost/internal/versions"
)

// Platform returns this program's platform, in the form of lock files.
func Platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

// Manifest is stored beside an installed plugin.
type Manifest struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Platform string `json:"platform"`
	// Program is the program's path below the files' directory.
	Program string `json:"program"`
	// SHA256 is the checksum of the program, Tree that of all files with their names.
	SHA256 string `json:"sha256"`
	Tree   string `json:"tree"`
	// From is the origin, as given.
	From string `json:"from"`
	// Signature describes the author's signature.
	Signature Signature `json:"signature"`
	// Description is the plugin's, at installation.
	Description *plugins.Description `json:"description"`
	InstalledAt time.Time            `json:"installed_at"`
}

// Installed is a plugin in a store.
type Installed struct {
	Manifest
	// Dir is the directory of its files.
	Dir string `json:"dir"`
}

// Path returns the program's path.
func (i *Installed) Path() string { return filepath.Join(i.Dir, filepath.FromSlash(i.Program)) }

// Store is a directory of installed plugins:
// NAME/VERSION/PLATFORM/{plugin.json,files/}.
type Store struct{ dir string }

// Dir returns the directory of this user's plugins: toolhost/plugins below XDG_DATA_HOME, or the system's
// equivalent. Plugins installed by a newer toolhost are refused.
func Dir() (string, error) {
	data, err := userdir.Data()
	if err != nil {
		return "", tool.Errorf(tool.Unavailable, "there is no place for plugins: %w",
			err).Suggest("Set HOME or XDG_DATA_HOME.")
	}
	dir := filepath.Join(data, "plugins")
	return dir, userdir.Known("what is installed as plugins", dir, userdir.PluginsFormat)
}

// OpenStore opens the store in dir, which need not exist.
func OpenStore(dir string) *Store { return &Store{dir: dir} }

const (
	manifestName = "plugin.json"
	filesName    = "files"
	stagePrefix  = ".new-"
)

var errName = errors.New("a name has 1 to 64 letters, digits, '_', '-' and '.', and begins with a letter or digit")

// checkName refuses names that cannot be directories.
func checkName(name string) error {
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`).MatchString(name) {
		return errName
	}
	return nil
}

func (s *Store) place(name, version string) string {
	return filepath.Join(s.dir, name, version, Platform())
}

// List returns all plugins installed for this platform, by name, newest version first.
func (s *Store) List() []Installed {
	names, _ := os.ReadDir(s.dir)
	var all []Installed
	for _, n := range names {
		for _, version := range s.Versions(n.Name()) {
			if found, err := s.Find(n.Name(), version); err == nil {
				all = append(all, *found)
			}
		}
	}
	slices.SortFunc(all, func(a, b Installed) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), versions.Compare(b.Version, a.Version))
	})
	return all
}

// Versions returns the versions of a plugin installed for this platform.
func (s *Store) Versions(name string) []string {
	if checkName(name) != nil {
		return nil
	}
	entries, _ := os.ReadDir(filepath.Join(s.dir, name))
	var all []string
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(s.place(name, e.Name()), manifestName)); err == nil &&
			versions.Valid(e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all
}

// Find returns an installed plugin. The error is a *tool.Error of code not_found.
func (s *Store) Find(name, version string) (*Installed, error) {
	missing := tool.Errorf(tool.NotFound, "plugin %s %s is not installed for %s", name, version, Platform()).
		Suggest("Run toolhost plugin install.")
	if checkName(name) != nil || !versions.Valid(version) {
		return nil, missing
	}
	data, err := os.ReadFile(filepath.Join(s.place(name, version), manifestName))
	if err != nil {
		return nil, missing
	}
	found := &Installed{Dir: filepath.Join(s.place(name, version), filesName)}
	if json.Unmarshal(data, &found.Manifest) != nil || found.Name != name || found.Version != version ||
		!filepath.IsLocal(found.Program) {
		return nil, tool.Errorf(tool.Unavailable, "what is kept of plugin %s %s in %s is broken", name, version,
			s.place(name, version)).
			Suggest("Install it again.")
	}
	return found, nil
}

// stage makes a directory beside the final one, so that a rename suffices.
func (s *Store) stage() (string, error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(s.dir, stagePrefix)
}

// commitStage moves a stage to its place, replacing what was there.
func (s *Store) commitStage(stage string, m Manifest) (*Installed, error) {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(stage, manifestName), append(data, '\n'), 0o644); err != nil {
		return nil, err
	}
	place := s.place(m.Name, m.Version)
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return nil, err
	}
	old, err := os.MkdirTemp(s.dir, stagePrefix)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(old)
	if err := os.Rename(place, filepath.Join(old, "old")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := os.Chmod(stage, 0o755); err != nil {
		return nil, err
	}
	if err := os.Rename(stage, place); err != nil {
		return nil, err
	}
	return &Installed{Manifest: m, Dir: filepath.Join(place, filesName)}, nil
}

// Remove removes one version of a plugin, or all if version is "", and returns those removed. It is an
// error if there are none.
func (s *Store) Remove(name, version string) ([]string, error) {
	list := s.Versions(name)
	if version != "" {
		list = slices.DeleteFunc(list, func(v string) bool { return v != version })
	}
	if len(list) == 0 {
		return nil, tool.Errorf(tool.NotFound, "plugin %s is not installed", strings.TrimSpace(name+" "+version)).
			Suggest("toolhost plugin list --installed names those that are.")
	}
	for _, v := range list {
		if err := os.RemoveAll(s.place(name, v)); err != nil {
			return nil, err
		}
		_ = os.Remove(filepath.Join(s.dir, name, v)) // fails if other platforms remain
	}
	_ = os.Remove(filepath.Join(s.dir, name))
	return list, nil
}

// Verify compares an installed plugin with its manifest. The error is a *tool.Error of code blocked.
func (i *Installed) Verify() error {
	sum, err := hashFile(i.Path())
	if err == nil && sum != i.SHA256 {
		err = errors.New("its program was changed")
	}
	if err == nil {
		var tree string
		if tree, err = hashTree(i.Dir); err == nil && tree != i.Tree {
			err = errors.New("its files were changed")
		}
	}
	if err != nil {
		return tool.Errorf(tool.Blocked, "plugin %s %s is not as it was installed: %w", i.Name, i.Version, err).
			Suggest("Run %s, and find out what changed it.", i.Again()).With("dir", i.Dir)
	}
	return nil
}

// Again returns the command that reinstalls the plugin.
func (i *Installed) Again() string { return "toolhost plugin install " + show.Word(i.From) }

// hashFile returns a file's SHA-256, in hex.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashTree returns a checksum of all files below dir, with their names and executable bits.
func hashTree(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // sorted by name
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		sum, err := hashFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %t %s\n", filepath.ToSlash(rel), info.Mode()&0o111 != 0, sum)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
