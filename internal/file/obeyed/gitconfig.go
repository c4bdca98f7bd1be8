package obeyed

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// setting is a line of git's configuration that sets a value. raw is the line.
type setting struct{ section, subsection, key, value, raw string }

// name returns the key with its section, such as "remote.*.url".
func (s setting) name() string {
	if s.subsection == "" {
		return s.section + "." + s.key
	}
	return s.section + ".*." + s.key
}

var (
	sectionLine = regexlimit.Lazy(`^\[([A-Za-z][A-Za-z0-9-]*)(?: "([^"\\]*)")?\]$`)
	settingLine = regexlimit.Lazy(`^([A-Za-z][A-Za-z0-9-]*)(?:[ \t]*=[ \t]*(.*))?$`)
)

// settings parses a configuration as git writes it: one line for each section and value. ok is false for
// anything else, such as a continued value.
func settings(text string) (all []setting, ok bool) {
	in := setting{}
	for line := range strings.Lines(text) {
		line = strings.Trim(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), " \t")
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0xfeff }) ||
			strings.HasSuffix(line, `\`) {
			return nil, false
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if header := sectionLine().FindStringSubmatch(line); header != nil {
			in = setting{section: strings.ToLower(header[1]), subsection: header[2]}
			continue
		}
		parts := settingLine().FindStringSubmatch(line)
		if parts == nil || in.section == "" {
			return nil, false
		}
		s := in
		s.key, s.value, s.raw = strings.ToLower(parts[1]), parts[2], line
		if !strings.Contains(line, "=") {
			s.value = "true"
		}
		all = append(all, s)
	}
	return all, true
}

const (
	boolean = `true|false`
	// address is a URL or a path that starts no program: no ext::, no option.
	address = `(?:https?|ssh|git|file)://[\pL\pN_.~%/@:+,=?&-]*|[\pL\pN_.][\pL\pN_.@-]*:[\pL\pN_.~%/@+,= -]*|` +
		`(?:/|\.{1,2}/|\.{1,2}$)[\pL\pN_.~%/@:+,= -]*`
)

// harmless are the settings of a repository's configuration that start no program, read no file (except by an
// address of another repository) and write none outside the repository, with their allowed values. Only the user
// may set others.
var harmless = sync.OnceValue(func() map[string]func() *regexp.Regexp {
	all := make(map[string]func() *regexp.Regexp)
	for name, value := range map[string]string{
		"core.repositoryformatversion": `0|1`, "core.bare": `false`, "core.filemode": boolean,
		"core.logallrefupdates": boolean, "core.ignorecase": boolean, "core.precomposeunicode": boolean,
		"core.symlinks": boolean, "core.autocrlf": boolean + `|input`, "core.hookspath": `/dev/null`,
		"core.worktree":           `(?:\.\./)+[\pL\pN_./@+ -]+`,
		"extensions.objectformat": `sha1|sha256`, "extensions.refstorage": `files|reftable`, "extensions.relativeworktrees": boolean,
		"user.name": `[\pL\pN_. @+'()-]*`, "user.email": `[\pL\pN_.@+-]*`,
		"commit.gpgsign": `false`, "tag.gpgsign": `false`, "gc.auto": `[0-9]+`, "pull.rebase": boolean,
		"remote.*.url": address, "remote.*.tagopt": `--(?:no-)?tags`,
		"remote.*.fetch":  `\+?refs/[\pL\pN_./*-]+:refs/(?:remotes|tags)/[\pL\pN_./*-]+`,
		"branch.*.remote": `[\pL\pN_.][\pL\pN_./-]*`, "branch.*.merge": `refs/heads/[\pL\pN_./@+#-]+`,
		"branch.*.rebase": boolean, "submodule.active": `\.`,
		"submodule.*.url": address, "submodule.*.active": boolean,
		"submodule.*.update": `checkout|rebase|merge|none`,
	} {
		all[name] = regexlimit.Lazy(`^(?:` + value + `)$`)
	}
	return all
})

func (s setting) plain() bool {
	value, found := harmless()[s.name()]
	return found && value().MatchString(s.value) &&
		!slices.ContainsFunc([]string{"::", "@-", ":-", "://-"}, func(bad string) bool { return strings.Contains(s.value, bad) })
}

// plainConfig reports whether a configuration has only harmless settings. dir is the repository's directory: a work
// tree that it names must be a submodule's and in the tree.
func plainConfig(text, dir string, inTree func(string) bool) bool {
	all, ok := settings(text)
	return ok && !slices.ContainsFunc(all, func(s setting) bool {
		if !s.plain() {
			return true
		}
		at := filepath.Join(dir, s.value)
		inside, found := insideGit(split(dir))
		return s.name() == "core.worktree" && (!found || len(inside) == 0 || HasAny(split(at), ".git") || !inTree(at))
	})
}

// once are settings that git writes when it creates a repository, unless they are set.
var once = []string{"core.repositoryformatversion", "core.bare", "core.filemode", "core.logallrefupdates",
	"core.ignorecase", "core.precomposeunicode", "core.symlinks", "core.worktree",
	"extensions.objectformat", "extensions.refstorage", "submodule.active",
	"submodule.*.url", "submodule.*.active", "submodule.*.update", "remote.*.url", "remote.*.fetch", "remote.*.tagopt"}

// follows reports whether a configuration may replace another: only branches' upstreams and the version may change,
// and missing remotes and submodules be added.
func follows(old, text string) bool {
	before, ok := settings(old)
	after, also := settings(text)
	if !ok || !also {
		return false
	}
	version := func(s setting) bool { return s.name() == "core.repositoryformatversion" && s.plain() } // clone sets it to 1 and to 0
	before, after = slices.DeleteFunc(before, version), slices.DeleteFunc(after, version)
	same := func(s setting) func(setting) bool {
		return func(o setting) bool {
			return s.section == o.section && s.subsection == o.subsection && s.key == o.key
		}
	}
	isRemote := func(s setting) bool { return s.section == "remote" }
	known := func(name string) bool {
		return name == "." || slices.ContainsFunc(slices.Concat(before, after), func(s setting) bool {
			return isRemote(s) && s.subsection == name
		})
	}
	kept := slices.DeleteFunc(slices.Clone(before), func(s setting) bool { return s.section == "branch" })
	for _, s := range after {
		switch {
		case slices.Contains(before, s) && s.section == "branch":
		case len(kept) > 0 && kept[0] == s:
			kept = kept[1:]
		case !s.plain() || s.name() == "branch.*.remote" && !known(s.value):
			return false
		case s.section == "branch":
		case !slices.Contains(once, s.name()) || slices.ContainsFunc(before, same(s)):
			return false
		case isRemote(s) && slices.ContainsFunc(before, func(o setting) bool {
			return isRemote(o) && o.subsection != s.subsection
		}):
			return false
		}
	}
	return len(kept) == 0
}
