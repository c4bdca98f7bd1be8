package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// Exactly returns the rule that "always" stores: it allows only this very call in that toolset, since a tool of the
// same name can be a different one elsewhere.
func Exactly(toolset, toolName string, params json.RawMessage) Rule {
	text := CanonicalJSON(params)
	return Rule{
		Name:    fmt.Sprintf("always %s %s", toolName, show.Digest(toolset + "\x00" + toolName + "\x00" + text)[:8]),
		Tool:    toolName,
		Toolset: &toolset,
		Params:  "^" + regexp.QuoteMeta(text) + "$",
		Action:  Allow,
	}
}

// Reaching returns the rule that "always" stores for a connection: processes of that tool in that toolset may reach
// this host and port in any call.
func Reaching(toolset, toolName, host string) Rule {
	return Rule{
		Name:    fmt.Sprintf("always %s %s %s", toolName, host, show.Digest(toolset + "\x00" + toolName + "\x00" + host)[:8]),
		Tool:    toolName,
		Toolset: &toolset,
		Host:    host,
		Action:  Allow,
	}
}

// Remembered stores the rules that the user has added for a workspace, by answering "always" or with `toolhost
// rules add`. It is in the user's configuration, because an agent can write in the workspace. Each rule is a
// file, written atomically, so that processes need no lock.
type Remembered struct {
	dir       string
	workspace string
}

// RememberedDir returns the default directory of remembered rules, in the user's configuration.
func RememberedDir() (string, error) { return userdir.Dir("remembered rules", "rules") }

// OpenRemembered returns the store in dir for the workspace at the absolute path workspace, without creating it.
// A dir inside the workspace or one of the further trees that tools may use is refused.
func OpenRemembered(dir, workspace string, trees ...string) (*Remembered, error) {
	if !filepath.IsAbs(dir) || !filepath.IsAbs(workspace) {
		return nil, tool.Errorf(tool.InvalidArgument, "remembered rules need absolute paths, not %q and %q", dir,
			workspace).
			Suggest("Give absolute paths.")
	}
	if err := userdir.Outside("remembered rules", dir, append([]string{workspace}, trees...)...); err != nil {
		return nil, err
	}
	return &Remembered{dir: filepath.Join(dir, show.Digest(workspace)[:16]), workspace: workspace}, nil
}

type stored struct {
	Version   int       `json:"version"`
	Workspace string    `json:"workspace"`
	Added     time.Time `json:"added"`
	Rule      Rule      `json:"rule"`
}

const storedVersion = 1

// List returns the rules, oldest first, and an error about files that cannot be read. A rule that a newer
// toolhost wrote is an error of code unsupported.
func (r *Remembered) List() ([]Rule, error) {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, r.failure("read", err)
	}
	var all []stored
	var errs []error
	for _, entry := range entries {
		if !entry.Type().IsRegular() || filepath.Ext(entry.Name()) != ".json" {
			continue
		}
		s, err := r.read(entry.Name())
		if tool.CodeOf(err) == tool.Unsupported {
			return nil, err
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b stored) int { return a.Added.Compare(b.Added) })
	rules := make([]Rule, len(all))
	for i, s := range all {
		rules[i] = s.Rule
		rules[i].Remembered = true
	}
	return rules, r.failure("read", errors.Join(errs...))
}

func (r *Remembered) read(name string) (s stored, err error) {
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return s, err
	}
	var form struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(data, &form) == nil && form.Version > storedVersion {
		file := filepath.Join(r.dir, name)
		return s, userdir.Newer("a remembered rule", file, file, form.Version, storedVersion)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case s.Version != storedVersion:
		return s, fmt.Errorf("%s: version %d is not known", name, s.Version)
	case s.Workspace != r.workspace:
		return s, fmt.Errorf("%s: it is for workspace %s", name, s.Workspace)
	}
	if _, err := compile(s.Rule); err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// Has reports whether a rule of that name is stored, readable or not.
func (r *Remembered) Has(name string) bool {
	_, err := os.Lstat(r.file(name))
	return err == nil
}

// Add stores a rule, replacing one of the same name.
func (r *Remembered) Add(rule Rule) error {
	if rule.Name == "" {
		return tool.Errorf(tool.InvalidArgument, "a remembered rule needs a name").Suggest("Name it.")
	}
	if _, err := compile(rule); err != nil {
		return tool.Errorf(tool.InvalidArgument, "rule %q: %w", rule.Name, err).Suggest("Correct the rule.")
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return r.failure("write", err)
	}
	if _, err := r.read(filepath.Base(r.file(rule.Name))); tool.CodeOf(err) == tool.Unsupported {
		return err // a newer toolhost's rule is not overwritten
	}
	data, err := json.MarshalIndent(stored{storedVersion, r.workspace, time.Now().UTC(), rule}, "", "  ")
	if err != nil {
		return r.failure("write", err)
	}
	return r.failure("write", atomicfile.Write(r.file(rule.Name), append(data, '\n'), 0o600))
}

func (r *Remembered) file(name string) string {
	return filepath.Join(r.dir, show.Digest(name)[:24]+".json")
}

// Remove deletes the rule of that name.
func (r *Remembered) Remove(name string) error {
	err := os.Remove(r.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Errorf(tool.NotFound, "there is no remembered rule %q for %s", name, r.workspace).
			Suggest("`toolhost rules list` shows the rules.")
	}
	return r.failure("remove", err)
}

func (r *Remembered) failure(doing string, err error) error {
	if err == nil {
		return nil
	}
	code := tool.Unavailable
	if errors.Is(err, fs.ErrPermission) {
		code = tool.PermissionDenied
	}
	return tool.Errorf(code, "cannot %s the remembered rules in %s: %w", doing, r.dir, err).
		Suggest("Check that the directory belongs to you and is writable; a damaged file can be deleted.")
}
