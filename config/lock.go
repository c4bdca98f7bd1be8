package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/internal/versions"
)

// LockName is the file beside agent.hcl that pins its plugins.
const LockName = "agent.lock.hcl"

// Lock is the content of an agent.lock.hcl.
type Lock struct {
	// Plugins are sorted by name.
	Plugins []LockedPlugin
	// Tools are sorted by source.
	Tools []LockedTools
}

// LockedTools pins the tools' definitions of a plugin or MCP server.
type LockedTools struct {
	// Source is the source's name, such as "mcp github".
	Source string
	// SHA256 maps a tool's name to the checksum of its definition, in lower-case hex.
	SHA256 map[string]string
}

// Pin sets the checksum of a tool's definition.
func (l *Lock) Pin(source, name, sum string) {
	i := slices.IndexFunc(l.Tools, func(t LockedTools) bool { return t.Source == source })
	if i < 0 {
		i = len(l.Tools)
		l.Tools = append(l.Tools, LockedTools{Source: source, SHA256: make(map[string]string)})
		defer slices.SortFunc(l.Tools, func(a, b LockedTools) int { return strings.Compare(a.Source, b.Source) })
	}
	l.Tools[i].SHA256[name] = sum
}

// LockedPlugin pins a plugin.
type LockedPlugin struct {
	Name string
	// Version is the one in use, Constraint agent.hcl's when it was locked. Both are empty for a plugin that is
	// run from a path.
	Version, Constraint string
	// From is the plugin's origin: an https URL, or a path, relative to the file if possible.
	From string
	// Key is the minisign public key of its releases, empty if unsigned.
	Key string
	// SHA256 maps a platform ("linux_amd64") to the program's checksum, in lower-case hex.
	SHA256 map[string]string
	Pos    string
}

// Find returns the entry of a plugin, or nil.
func (l *Lock) Find(name string) *LockedPlugin {
	if l == nil {
		return nil
	}
	i := slices.IndexFunc(l.Plugins, func(p LockedPlugin) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &l.Plugins[i]
}

// Set adds or replaces an entry.
func (l *Lock) Set(p LockedPlugin) {
	l.Remove(p.Name)
	l.Plugins = append(l.Plugins, p)
	slices.SortFunc(l.Plugins, func(a, b LockedPlugin) int { return strings.Compare(a.Name, b.Name) })
}

// Remove removes an entry.
func (l *Lock) Remove(name string) {
	l.Plugins = slices.DeleteFunc(l.Plugins, func(p LockedPlugin) bool { return p.Name == name })
}

// Unpin removes the checksums of a source's tools.
func (l *Lock) Unpin(source string) {
	l.Tools = slices.DeleteFunc(l.Tools, func(t LockedTools) bool { return t.Source == source })
}

// LockPath returns the lock file of an agent.hcl.
func LockPath(config string) string { return filepath.Join(filepath.Dir(config), LockName) }

// ReadLock reads a lock file. A missing one locks nothing.
func ReadLock(path string) (*Lock, Diagnostics) {
	src, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err != nil && missing(path):
		return new(Lock), nil
	case err != nil:
		return new(Lock), Diagnostics{unreadable(path, err)}
	}
	return ParseLock(display(path), src)
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// ParseLock reads the text of a lock file.
func ParseLock(filename string, src []byte) (*Lock, Diagnostics) {
	r := &reader{filename: filename, cfg: new(Config)}
	lock := new(Lock)
	if !r.parse(src) {
		return lock, finish(r.diags, r.file, nil)
	}
	if r.newerLock() {
		return lock, finish(r.diags, r.file, nil)
	}
	content := r.content(r.file.Body, "lock file", LockName)
	for _, b := range content.Blocks {
		if b.Type == "tools" {
			r.lockedTools(b, lock)
			continue
		}
		if lock.Find(b.Labels[0]) != nil {
			r.fail(b.LabelRanges[0], "Locked twice", "Run toolhost plugin lock.", "There is another block for %q.",
				b.Labels[0])
			continue
		}
		lock.Set(r.locked(b))
	}
	return lock, finish(r.diags, r.file, nil)
}

// lockFormat is the newest known format of lock files. One without a format has 1.
const lockFormat = 1

// newerLock reports a lock file of a newer toolhost, whose content could mean something else.
func (r *reader) newerLock() bool {
	content, _, _ := r.file.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "format"}}})
	format, ok := content.Attributes["format"]
	if !ok {
		return false
	}
	value, diags := format.Expr.Value(nil)
	if diags.HasErrors() || value.Type() != cty.Number || !value.IsKnown() || value.IsNull() {
		r.fail(format.Range, "Invalid format", "Get the file from version control again.", "It is not a number.")
		return true
	}
	if value.AsBigFloat().Cmp(big.NewFloat(lockFormat)) == 0 {
		return false
	}
	r.fail(format.Range, "Written by a newer toolhost",
		"Use the toolhost that the project uses. To lock the plugins again with this one, move the file away and run toolhost plugin lock.",
		"%s has format %s, and this toolhost reads format %d.", LockName, value.AsBigFloat().Text('f', -1), lockFormat)
	return true
}

func (r *reader) lockedTools(b *hcl.Block, lock *Lock) {
	blk := r.open(b, "tools in a lock file")
	blk.require("sha256")
	var sums map[string]string
	blk.textMap("sha256", &sums)
	for name, sum := range sums {
		if !isChecksum(sum) {
			r.fail(blk.where("sha256"), "Invalid checksum", "Run toolhost trust tools.", "%q is not a SHA-256 checksum.", sum)
		}
		lock.Pin(b.Labels[0], name, sum)
	}
}

func isChecksum(sum string) bool {
	return len(sum) == 64 && strings.Trim(sum, "0123456789abcdef") == ""
}

func (r *reader) locked(b *hcl.Block) LockedPlugin {
	blk := r.open(b, "plugin in a lock file")
	blk.require("sha256")
	p := LockedPlugin{Name: b.Labels[0], Pos: pos(b.DefRange)}
	if blk.text("version", &p.Version) && !versions.Valid(p.Version) {
		r.fail(blk.where("version"), "Invalid version", "Run toolhost plugin lock.", "%q is not a valid version.", p.Version)
	}
	blk.text("constraint", &p.Constraint)
	blk.text("from", &p.From)
	blk.text("key", &p.Key)
	blk.textMap("sha256", &p.SHA256)
	for _, sum := range p.SHA256 {
		if !isChecksum(sum) {
			r.fail(blk.where("sha256"), "Invalid checksum", "Run toolhost plugin lock.", "%q is not a SHA-256 checksum.", sum)
		}
	}
	return p
}

// Bytes returns the lock file in canonical form.
func (l *Lock) Bytes() []byte {
	var out bytes.Buffer
	out.WriteString("# Written by toolhost plugin lock, install and update. Keep it under version control.\n")
	for _, p := range l.Plugins {
		fmt.Fprintf(&out, "\nplugin %s {\n", quote(p.Name))
		for _, a := range []struct{ name, value string }{
			{"version   ", p.Version}, {"constraint", p.Constraint}, {"from      ", p.From}, {"key       ", p.Key},
		} {
			if a.value != "" {
				fmt.Fprintf(&out, "  %s = %s\n", a.name, quote(a.value))
			}
		}
		writeSums(&out, p.SHA256, func(platform string) string { return platform })
	}
	for _, t := range l.Tools {
		fmt.Fprintf(&out, "\ntools %s {\n", quote(t.Source))
		writeSums(&out, t.SHA256, quote)
	}
	return out.Bytes()
}

func writeSums(out *bytes.Buffer, sums map[string]string, key func(string) string) {
	out.WriteString("  sha256 = {\n")
	width := 0
	for name := range sums {
		width = max(width, len(key(name)))
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(out, "    %-*s = %s\n", width, key(name), quote(sums[name]))
	}
	out.WriteString("  }\n}\n")
}

// quote quotes text for HCL, in which ${ and %{ begin templates.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r)
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// AddPlugin returns the text of an agent.hcl with a plugin block added, for a plugin installed as source.
func AddPlugin(src []byte, name, source, constraint string) []byte {
	out := bytes.Clone(src)
	if len(out) > 0 {
		if !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, '\n')
		}
		out = append(out, '\n')
	}
	block := fmt.Sprintf("plugin %s {\n  source = %s\n}\n", quote(name), quote(source))
	if constraint != "" {
		block = fmt.Sprintf("plugin %s {\n  source  = %s\n  version = %s\n}\n", quote(name), quote(source),
			quote(constraint))
	}
	return append(out, block...)
}
