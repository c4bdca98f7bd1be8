package config

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/run/variables"
	"github.com/toolhost/toolhost/internal/source/taskincludes"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// PrivilegedBlock is a block whose processes may do more than other confined ones, by its own network, read or
// write, or by a secret in its environment. Changing the files that it runs uses the grant.
type PrivilegedBlock struct {
	// Block is its name for people, `tool "lint"`, Pos its place.
	Block, Pos string
	// Files are the paths below the root of its program and arguments: existing files, and words that look like
	// one.
	Files []string
	// Dirs are the directories among them, including the root. Their content is not compared.
	Dirs []string
}

// PrivilegedBlocks returns the blocks with a grant that name files below root, the absolute workspace.
func (c *Config) PrivilegedBlocks(root string) (blocks []PrivilegedBlock) {
	c.eachBlock(func(b *rights) {
		if !c.grants(b.access, b.env) {
			return
		}
		if b.kind == "taskfile" {
			blocks = append(blocks, PrivilegedBlock{b.kind, b.pos, c.taskfiles(root), nil})
			return
		}
		block := b.kind
		if b.name != "" {
			block += ` "` + b.name + `"`
		}
		files, dirs := filesNamed(root, b.words), dirsNamed(root, b.words)
		if len(files)+len(dirs) > 0 {
			blocks = append(blocks, PrivilegedBlock{block, b.pos, files, dirs})
		}
	})
	return blocks
}

// ReadOnlyCache is the name in GrantedCaches for all tools of risk read_only without a cache of their own.
const ReadOnlyCache = "read_only"

// GrantedCaches returns a name, such as "tool-fetch", for each block with rights other than the sandbox
// block's. Its processes have their own caches under it: what a process with fewer rights wrote, another would
// run with its own. ReadOnlyCache is always among them, so that the first such tool restarts no plugin.
func (c *Config) GrantedCaches() []string {
	names := []string{ReadOnlyCache}
	c.eachBlock(func(b *rights) {
		if c.grants(b.access, b.env) || c.lacks(b.access) {
			names = append(names, CacheName(b.kind, b.name))
		}
	})
	return names
}

// ReadsOnly reports whether a tool or resource has the risk read_only.
func (c *Config) ReadsOnly() bool {
	return slices.ContainsFunc(c.Tools, func(t argv.Spec) bool { return t.Risk == tool.ReadOnly }) ||
		slices.ContainsFunc(c.Resources, func(r argv.Resource) bool { return r.Risk == tool.ReadOnly })
}

// CacheName returns the name of a block in GrantedCaches.
func CacheName(kind, name string) string {
	if name == "" {
		return kind
	}
	return kind + "-" + url.PathEscape(name)
}

// Withheld calls found for each variable that a block sets but its processes get differently or not at all.
func (c *Config) Withheld(found func(kind, name, pos, said string)) {
	c.eachBlock(func(b *rights) {
		for _, said := range c.withheld(b.access, b.env) {
			found(b.kind, b.name, b.pos, said)
		}
	})
}

func (c *Config) withheld(a Access, env map[string]string) []string {
	trees := append(slices.Clone(c.Workspace.Allow), realRoot(c.Workspace.Root))
	if c.Sandbox != nil {
		trees = append(trees, c.Sandbox.Write...)
	}
	return variables.Withheld(env, a.Write, trees...)
}

// rights are the rights of a block that starts processes. Words are its command's.
type rights struct {
	kind, name, pos string
	access          Access
	env             map[string]string
	words           []string
}

func (c *Config) eachBlock(found func(*rights)) {
	for i := range c.Tools {
		t := &c.Tools[i]
		found(&rights{"tool", t.Name, t.Pos, t.Access, literalEnv(t.Command), literalWords(t)})
	}
	for i := range c.Resources {
		r := &c.Resources[i]
		found(&rights{"resource", r.Name, r.Pos, r.Access, literalEnv(r.Command), literalWords(&argv.Spec{Command: r.Command})})
	}
	for _, s := range c.Servers {
		found(&rights{"mcp", s.Name, s.Pos, s.Access, s.Env, s.Command})
	}
	for _, a := range c.Agents {
		found(&rights{"agent", a.Role, a.Pos, a.Access, a.Env, a.Command})
	}
	for _, p := range c.Plugins {
		found(&rights{"plugin", p.Name, p.Pos, p.Access, p.Env, append([]string{p.Source}, p.Args...)})
	}
	if c.Taskfile != nil {
		found(&rights{kind: "taskfile", pos: c.Taskfile.Pos, access: c.Taskfile.Access})
	}
}

// DirectoryGrants returns, as sentences, blocks whose grant can be used by changing a file in a directory.
func (c *Config) DirectoryGrants() (lines []string) {
	root := realRoot(c.Workspace.Root)
	for _, block := range c.PrivilegedBlocks(root) {
		for _, dir := range block.Dirs {
			if rel, err := filepath.Rel(root, dir); err == nil {
				lines = append(lines,
					fmt.Sprintf("%s: %s has a grant and names the directory %s: whatever is changed in it "+
						"later runs with the grant and is not asked about. Name a file instead, or a program outside of the workspace.",
						block.Pos, block.Block, rel))
			}
		}
	}
	return lines
}

// grants reports whether a block's processes get what others do not.
func (c *Config) grants(a Access, env map[string]string) bool {
	var everywhere Sandbox
	if c.Sandbox != nil {
		everywhere = *c.Sandbox
	}
	further := slices.ContainsFunc(a.Hosts, func(h string) bool { return !slices.Contains(everywhere.Hosts, h) })
	if (a.Network || further) && !everywhere.Network || len(a.Read) > 0 || len(a.Write) > 0 {
		return true
	}
	for _, value := range env {
		if slices.ContainsFunc(c.Secrets, func(secret string) bool { return strings.Contains(value, secret) }) {
			return true
		}
	}
	return false
}

// lacks reports whether a block's processes reach less than the sandbox block's.
func (c *Config) lacks(a Access) bool {
	if c.Sandbox == nil || a.Network {
		return false
	}
	return c.Sandbox.Network || slices.ContainsFunc(c.Sandbox.Hosts, func(h string) bool { return !slices.Contains(a.Hosts, h) })
}

// taskfiles returns the paths below root of the Taskfile and all that it includes.
func (c *Config) taskfiles(root string) (files []string) {
	name := taskincludes.DefaultPath
	if c.Taskfile != nil && c.Taskfile.Path != "" {
		name = c.Taskfile.Path
	}
	for _, source := range taskincludes.Sources(root, name) {
		if path := filepath.Join(root, filepath.FromSlash(source)); !strings.ContainsRune(source, '*') {
			files = append(files, path)
		} else if found, err := filepath.Glob(path); err == nil {
			files = append(files, found...)
		}
	}
	return files
}

func literalWords(s *argv.Spec) (words []string) {
	switch {
	case s.Passthrough != nil:
		return append(words, s.Passthrough.Prepend...)
	case s.Command != nil:
		for i := range s.Command.Argv {
			words = append(words, s.Command.Argv[i].Literal) // empty for parameters
		}
	}
	return words
}

func literalEnv(t *argv.Template) map[string]string {
	if t == nil {
		return nil
	}
	env := make(map[string]string, len(t.Env))
	for name, e := range t.Env {
		env[name] = e.Literal
		for i := range e.Concat {
			env[name] += e.Concat[i].Literal
		}
	}
	return env
}

// filesNamed returns the files below root among the words of a command line.
func filesNamed(root string, words []string) (files []string) {
	for i, word := range words {
		if strings.HasPrefix(word, "-") {
			_, word, _ = strings.Cut(word, "=")
		}
		if i > 0 && words[i-1] == "-m" { // as Python names modules
			module := strings.ReplaceAll(word, ".", "/")
			files = append(files, fileNamed(root, module+".py")...)
			word = module + "/__main__.py"
		}
		files = append(files, fileNamed(root, word)...)
		if strings.ContainsFunc(word, betweenWords) { // a script, as for sh -c
			for _, part := range strings.FieldsFunc(runBy(word), betweenWords) {
				files = append(files, fileNamed(root, part)...)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// dirsNamed returns the directories that are root or below it; Go's "..." names one too.
func dirsNamed(root string, words []string) (dirs []string) {
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			_, word, _ = strings.Cut(word, "=")
		}
		path := strings.TrimSuffix(word, "...")
		if word == "" || strings.ContainsAny(word, "\x00\n") {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() && realpath.Below(path, root) {
			dirs = append(dirs, path)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// written matches what a script redirects its output to, printed a command that only prints a file, at the end
// of a line.
var (
	written = regexlimit.Lazy(`(^|[^<])>>?\|?[ \t]*([^\s;&|()<>"'=` + "`" + `$]+)`)
	printed = regexlimit.Lazy(`((?:^|[;&\n])[ \t]*(?:cat|cut|grep|head|tail|wc)(?:[ \t]+-[^\s;&|()<>]*)*[ \t]*<?[ \t]*)` +
		`([^\s;&|()<>"'=` + "`" + `$-][^\s;&|()<>"'=` + "`" + `$]*)([ \t]*(?:$|[;&\n]))`)
)

// runBy returns a script without its redirection targets, which it does not run. Commands that only print such
// a file, as a tool with a log does, are removed too, unless another program could read the output.
func runBy(script string) string {
	if !strings.ContainsAny(script, "|(`{") && !strings.Contains(script, "exec") {
		var targets []string
		for _, match := range written().FindAllStringSubmatch(script, -1) {
			targets = append(targets, match[2])
		}
		script = printed().ReplaceAllStringFunc(script, func(text string) string {
			match := printed().FindStringSubmatch(text)
			if !slices.Contains(targets, match[2]) {
				return text
			}
			return match[1] + match[3]
		})
	}
	return written().ReplaceAllString(script, "$1 ")
}

func betweenWords(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>\"'`=", r) }

// fileNamed returns the path that a word may name below root, and its target if it is a link.
func fileNamed(root, word string) []string {
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	if word == "" || strings.ContainsAny(word, "\x00\n") || strings.Contains(word, "://") || len(word) > 4096 ||
		path == root || !realpath.Below(path, root) {
		return nil
	}
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return nil
	case err != nil && filepath.Ext(word) == "" && !strings.ContainsRune(word, filepath.Separator):
		return nil // a word, not a path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path && realpath.Below(real, root) {
		return []string{path, real}
	}
	return []string{path}
}
