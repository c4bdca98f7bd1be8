package workspace

import (
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

const maxIgnoreSize = 1 << 20 // bytes

type ignoreRule struct {
	pattern  string
	negate   bool
	dirOnly  bool
	anywhere bool // the pattern has no directory: it matches at any depth
}

// ignoreList has the rules of one directory, and links to those above.
type ignoreList struct {
	up    *ignoreList
	base  string // the directory, "" for the tree's root
	rules []ignoreRule
}

// ignored reports whether rel, below the list's directory, is ignored: the last matching rule of the innermost
// directory decides.
func (l *ignoreList) ignored(rel string, dir bool) bool {
	ignored, _ := l.decide(rel, dir)
	return ignored
}

// decide also reports whether any rule matched.
func (l *ignoreList) decide(rel string, dir bool) (ignored, decided bool) {
	for ; l != nil; l = l.up {
		name := rel
		if l.base != "" {
			name = strings.TrimPrefix(rel, l.base+"/")
		}
		for i := len(l.rules) - 1; i >= 0; i-- {
			if l.rules[i].matches(name, dir) {
				return !l.rules[i].negate, true
			}
		}
	}
	return false, false
}

// Patterns are the lines of a .gitignore file.
type Patterns struct{ list *ignoreList }

// NewPatterns parses the lines of a .gitignore file.
func NewPatterns(lines []string) *Patterns {
	return &Patterns{&ignoreList{rules: parseIgnore(strings.Join(lines, "\n"))}}
}

// GitPatterns returns those of a directory's own .gitignore and its repository's exclude file, empty if they
// cannot be read.
func GitPatterns(dir string) *Patterns {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &Patterns{}
	}
	defer root.Close()
	return &Patterns{readIgnore(root, ".gitignore", "", readIgnore(root, ".git/info/exclude", "", nil))}
}

// Decide reports whether rel, relative to the directory of the patterns, is ignored, and whether any pattern
// matched.
func (p *Patterns) Decide(rel string, dir bool) (ignored, decided bool) {
	return p.list.decide(rel, dir)
}

func (r *ignoreRule) matches(name string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	if r.anywhere {
		return wildmatch(r.pattern, path.Base(name))
	}
	return wildmatch(r.pattern, name)
}

func parseIgnore(data string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.SplitSeq(strings.TrimPrefix(data, "\ufeff"), "\n") {
		if rule, ok := parseIgnoreLine(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, rule)
		}
	}
	return rules
}

func parseIgnoreLine(line string) (rule ignoreRule, ok bool) {
	if line == "" || line[0] == '#' {
		return rule, false
	}
	line = trimBlanks(line)
	line, rule.negate = strings.CutPrefix(line, "!")
	line, rule.dirOnly = strings.CutSuffix(line, "/")
	rule.anywhere = !strings.Contains(line, "/")
	rule.pattern = strings.TrimPrefix(line, "/")
	return rule, rule.pattern != ""
}

// trimBlanks trims trailing blanks that are not escaped.
func trimBlanks(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = i + 1
	}
	return line[:min(end, len(line))]
}

// readIgnore adds the rules of the file name in dir to those of up. Only regular files count, as in git.
func readIgnore(dir *os.Root, name, base string, up *ignoreList) *ignoreList {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return up
	}
	f, err := dir.OpenFile(name, openFlags, 0)
	if err != nil {
		return up
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return up
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreSize))
	if err != nil {
		return up
	}
	rules := parseIgnore(string(data))
	if len(rules) == 0 {
		return up
	}
	return &ignoreList{up: up, base: base, rules: rules}
}

// ignoresAbove returns the rules for the directory rel: those of the
// repository's exclude file and of every directory above.
func ignoresAbove(root *os.Root, rel string) *ignoreList {
	list := readIgnore(root, ".git/info/exclude", "", nil)
	base := ""
	for _, part := range components(rel) {
		list = readIgnore(root, path.Join(base, ".gitignore"), base, list)
		base = path.Join(base, part)
	}
	return list
}

// isGit reports whether an entry is a repository's own directory, or the file that stands for it.
func isGit(name string, mode fs.FileMode) bool {
	return name == ".git" && (mode.IsDir() || mode.IsRegular())
}
