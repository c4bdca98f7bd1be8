package config

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// runner is a program that runs commands which a file of the project names.
type runner struct {
	tool, what string
	files      []string
	argv       []string
	// name finds the name of a command in a line, as the first group.
	name *regexp.Regexp
	// section, where it is set, is the line after which name counts.
	section string
}

// runners are what init looks for beside a Taskfile.
func runners() []runner {
	return []runner{
		{"make", "target", []string{"Makefile", "makefile", "GNUmakefile"}, []string{"make"},
			regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_-]*)\s*::?(?:[^=]|$)`), ""},
		{"just", "recipe", []string{"justfile", "Justfile", ".justfile"}, []string{"just"},
			regexp.MustCompile(`^@?([A-Za-z][A-Za-z0-9_-]*)(?:\s[^:]*)?:(?:[^=]|$)`), ""},
		{"mise", "task", []string{"mise.toml", ".mise.toml"}, []string{"mise", "run"},
			regexp.MustCompile(`^\[tasks\.([A-Za-z0-9_-]+)\]|^([A-Za-z0-9_-]+)\s*=`), "[tasks]"},
	}
}

// fill is what stands for the placeholders of runnerBlock.
func (r runner) fill(file string, names []string) []string {
	var argv strings.Builder
	for _, arg := range r.argv {
		argv.WriteString(quoted(arg) + ", ")
	}
	return []string{"{{tool}}", quoted(r.tool), "{{what}}", r.what, "{{file}}", file, "{{names}}", quotedList(names),
		"{{argv}}", argv.String(),
		"{{description}}", quoted("Run a " + r.what + " of " + file + ". Returns: what it prints.")}
}

// commands lists the names of the commands in a file, each once, in its order.
func (r runner) commands(dir fs.FS, file string) []string {
	data, err := fs.ReadFile(dir, file)
	if err != nil || len(data) > maxPackage {
		return nil
	}
	var names []string
	section := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "[") {
			section = line
		}
		found := r.name.FindStringSubmatch(line)
		if found == nil || r.section != "" && found[1] == "" && section != r.section {
			continue
		}
		name := strings.Join(found[1:], "")
		if !slices.Contains(names, name) && len(names) < maxScripts {
			names = append(names, name)
		}
	}
	return names
}
