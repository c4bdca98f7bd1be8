package ocode

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

type status struct {
	branch   string
	detached bool
	commit   string // empty before the first commit
	subject  string
	upstream string
	ahead    int
	behind   int
	stashes  int
	state    string

	staged, unstaged, conflicts []change
	untracked, submodules       []string
}

type change struct {
	path string
	// from is the old name of a renamed or copied file, score their similarity in percent.
	from  string
	score int
	// what is "modified", "new file" and so on.
	what string
	// more is git's text after the name.
	more string
}

func (c change) text(verbose bool) string {
	line := c.path
	if c.from != "" {
		line = c.from + " -> " + c.path
	}
	if c.what != "" {
		line = c.what + ": " + line
	}
	if verbose && c.from != "" && c.score > 0 {
		line += fmt.Sprintf(" (%d%% alike)", c.score)
	}
	if c.more != "" {
		line += " (" + c.more + ")"
	}
	return line
}

func (s *status) clean() bool {
	return len(s.staged)+len(s.unstaged)+len(s.conflicts)+len(s.untracked) == 0
}

func parseStatus(printed string) (*status, error) {
	s := &status{}
	fields := strings.Split(strings.TrimSuffix(printed, "\x00"), "\x00")
	for i := 0; i < len(fields); i++ {
		entry := fields[i]
		if entry == "" {
			continue
		}
		var err error
		switch entry[0] {
		case '#':
			s.header(entry)
		case '?':
			s.untracked = append(s.untracked, strings.TrimPrefix(entry, "? "))
		case '1':
			err = s.changed(entry, 9, "")
		case '2':
			i++
			if i == len(fields) {
				return nil, unreadable(entry)
			}
			err = s.changed(entry, 10, fields[i])
		case 'u':
			err = s.unmerged(entry)
		case '!':
		default:
			err = unreadable(entry)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

func unreadable(entry string) error {
	return tool.Errorf(tool.Internal, "git status printed a line that is not known: %q", entry).
		Suggest("Run git status with the bash tool.")
}

func (s *status) header(entry string) {
	key, value, _ := strings.Cut(strings.TrimPrefix(entry, "# "), " ")
	switch key {
	case "branch.oid":
		if value != "(initial)" {
			s.commit = value
		}
	case "branch.head":
		s.branch = value
		if value == "(detached)" {
			s.branch, s.detached = "HEAD", true
		}
	case "branch.upstream":
		s.upstream = value
	case "branch.ab":
		_, _ = fmt.Sscanf(value, "+%d -%d", &s.ahead, &s.behind)
	case "stash":
		s.stashes, _ = strconv.Atoi(value)
	}
}

// changed reads an entry of n fields, the last of which is the path.
func (s *status) changed(entry string, n int, from string) error {
	fields := strings.SplitN(entry, " ", n)
	if len(fields) != n || len(fields[1]) != 2 || len(fields[2]) != 4 {
		return unreadable(entry)
	}
	c := change{path: fields[n-1]}
	renamed := change{path: c.path, from: from}
	if from != "" && len(fields[8]) > 1 {
		renamed.score, _ = strconv.Atoi(fields[8][1:])
	}
	if fields[2][0] == 'S' {
		s.submodules = append(s.submodules, c.path)
		if fields[2][1] == 'C' {
			c.more, renamed.more = "new commits", "new commits"
		}
	}
	staged, unstaged := fields[1][0], fields[1][1]
	if staged != '.' {
		s.staged = append(s.staged, named(staged, c, renamed))
	}
	if unstaged != '.' {
		s.unstaged = append(s.unstaged, named(unstaged, c, renamed))
	}
	return nil
}

// named returns the change that a status letter means.
func named(letter byte, c, renamed change) change {
	if letter == 'R' || letter == 'C' {
		c = renamed
	}
	c.what = map[byte]string{
		'M': "modified", 'T': "typechange", 'A': "new file", 'D': "deleted", 'R': "renamed", 'C': "copied",
	}[letter]
	return c
}

func (s *status) unmerged(entry string) error {
	fields := strings.SplitN(entry, " ", 11)
	if len(fields) != 11 {
		return unreadable(entry)
	}
	what := map[string]string{
		"DD": "both deleted", "AU": "added by us", "UD": "deleted by them", "UA": "added by them",
		"DU": "deleted by us", "AA": "both added", "UU": "both modified",
	}[fields[1]]
	s.conflicts = append(s.conflicts, change{path: fields[10], what: what})
	return nil
}

func (s *status) dirtySubmodule(path, what string) {
	if !slices.Contains(s.submodules, path) {
		s.submodules = append(s.submodules, path)
	}
	for i, c := range s.unstaged {
		if c.path == path {
			s.unstaged[i].more = strings.TrimPrefix(c.more+", "+what, ", ")
			return
		}
	}
	s.unstaged = append(s.unstaged, change{path: path, what: "modified", more: what})
	slices.SortStableFunc(s.unstaged, func(a, b change) int { return strings.Compare(a.path, b.path) })
}

// relativeTo makes paths, which git prints relative to top, relative to dir.
func (s *status) relativeTo(top, dir string) {
	prefix, err := filepath.Rel(top, dir)
	if err != nil || prefix == "." {
		return
	}
	prefix = filepath.ToSlash(prefix) + "/"
	for _, list := range [][]change{s.staged, s.unstaged, s.conflicts} {
		for i := range list {
			list[i].path = strings.TrimPrefix(list[i].path, prefix)
			list[i].from = strings.TrimPrefix(list[i].from, prefix)
		}
	}
	for _, list := range [][]string{s.untracked, s.submodules} {
		for i := range list {
			list[i] = strings.TrimPrefix(list[i], prefix)
		}
	}
}
