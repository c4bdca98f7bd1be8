package testrun

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// locate finds the project, the nearest directory upwards with a framework's marker, and the
// framework.
func (j *job) locate() error {
	j.dir, j.target = ".", j.Path
	start, err := j.start()
	if err != nil {
		return err
	}
	for dir := start; ; dir = path.Dir(dir) {
		found := j.frameworks(dir)
		if len(found) > 0 {
			j.useProject(dir, found)
			return nil
		}
		if dir == "." || dir == "/" {
			break
		}
	}
	if j.Framework != "" {
		return nil
	}
	where := "the workspace"
	if start != "." {
		where = start + " and the directories above it"
	}
	return tool.Errorf(tool.NotFound, "no test framework was recognized in %s", where).
		Suggest("Name one in framework, or add what marks it: pytest.ini, conftest.py or test_*.py, a package.json " +
			"that needs jest or mocha, Cargo.toml, go.mod.")
}

// start returns the directory where the search for the project starts. For a test name or pattern
// it is the directory that it starts with, if any: pkg for pkg/test_a.py::test_x.
func (j *job) start() (string, error) {
	if j.Path == "" {
		return ".", nil
	}
	whole := strings.TrimPrefix(j.Path, "./")
	for name := fileOf(whole); ; name = path.Dir(name) {
		info, err := j.workspace.Stat(name)
		switch tool.CodeOf(err) {
		case "":
		case tool.PathOutsideWorkspace, tool.PermissionDenied:
			return "", err
		default: // perhaps a name that only the framework knows
			if name == path.Dir(name) {
				return ".", nil
			}
			continue
		}
		rel, err := j.workspace.Rel(name)
		if err != nil || rel == "." && name != whole {
			return ".", err
		}
		j.begins, j.exists, j.isDir = true, name == whole, info.IsDir()
		j.target = rel + strings.TrimPrefix(whole, name)
		if !j.isDir {
			return path.Dir(rel), nil
		}
		return rel, nil
	}
}

// looksLikePattern reports whether a path is a test name or pattern, not a file.
func looksLikePattern(s string) bool {
	return strings.ContainsAny(s, "*?|[]^$ ") || strings.Contains(s, "::")
}

// useProject chooses the project in which a framework was found.
func (j *job) useProject(dir string, found []Framework) {
	j.dir = dir
	if j.begins {
		j.target, _ = relativeTo(j.target, dir)
	}
	if j.Framework != "" {
		return
	}
	if j.Framework = forFile(fileOf(j.target), found); j.Framework == "" {
		j.Framework = found[0]
	}
	for _, other := range found {
		if other != j.Framework && !(other == Unittest && j.Framework == Pytest) {
			j.report.warn("the project also has tests of %s; name it in framework to run those", other)
		}
	}
}

// fileOf returns the file of a test named in pytest's form.
func fileOf(target string) string {
	file, _, _ := strings.Cut(target, "::")
	return file
}

// forFile returns the framework for a file's extension.
func forFile(name string, found []Framework) Framework {
	fits := map[string][]Framework{
		".py": {Pytest, Unittest}, ".rs": {Cargo}, ".go": {Go},
		".js": {Jest, Mocha}, ".ts": {Jest, Mocha}, ".jsx": {Jest, Mocha}, ".tsx": {Jest, Mocha}, ".mjs": {Jest, Mocha},
		".cjs": {Jest, Mocha},
	}[path.Ext(name)]
	for _, f := range found {
		if slices.Contains(fits, f) {
			return f
		}
	}
	return ""
}

func relativeTo(name, dir string) (string, bool) {
	switch {
	case name == dir:
		return ".", true
	case dir == ".":
		return name, true
	}
	return strings.CutPrefix(name, dir+"/")
}

// frameworks returns those with markers in a directory, or the requested one alone.
func (j *job) frameworks(dir string) []Framework {
	var found []Framework
	for _, f := range []Framework{Pytest, Unittest, Jest, Mocha, Cargo, Go} {
		if (j.Framework == "" || j.Framework == f) && j.marked(dir, f) {
			found = append(found, f)
		}
	}
	return found
}

func (j *job) marked(dir string, f Framework) bool {
	switch f {
	case Go:
		return j.has(dir, "go.mod")
	case Cargo:
		return j.has(dir, "Cargo.toml")
	case Jest:
		return j.needs(dir, "jest") || j.glob(dir, "jest.config.*")
	case Mocha:
		return j.needs(dir, "mocha") || j.glob(dir, ".mocharc.*")
	case Pytest:
		return j.has(dir, "pytest.ini") || j.has(dir, "conftest.py") || j.has(dir, "tests/conftest.py") ||
			j.mentions(dir, "pyproject.toml", "[tool.pytest") || j.mentions(dir, "setup.cfg", "[tool:pytest]") ||
			j.mentions(dir, "tox.ini", "[pytest]") ||
			j.mentions(dir, "pyproject.toml", "pytest") || j.mentions(dir, "requirements.txt", "pytest") ||
			j.mentions(dir, "requirements-dev.txt", "pytest")
	case Unittest:
		return j.glob(dir, "test*.py") || j.glob(dir, "tests/test*.py") || j.glob(dir, "test/test*.py") ||
			j.glob(dir, "*/tests/test*.py")
	}
	return false
}

func (j *job) has(dir, name string) bool {
	info, err := j.workspace.Stat(path.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

func (j *job) glob(dir, pattern string) bool {
	if strings.ContainsAny(dir, `*?[{\`) {
		return false
	}
	found, err := j.workspace.Glob(j.ctx, path.Join(dir, pattern), workspace.GlobOptions{})
	return err == nil && len(found) > 0
}

const configLimit = 1 << 20 // bytes

func (j *job) mentions(dir, name, text string) bool {
	data, _, err := j.workspace.ReadFile(path.Join(dir, name), configLimit)
	return err == nil && strings.Contains(string(data), text)
}

// needs reports whether package.json depends on a package or runs it as its test script.
func (j *job) needs(dir, name string) bool {
	data, _, err := j.workspace.ReadFile(path.Join(dir, "package.json"), configLimit)
	if err != nil {
		return false
	}
	var file struct {
		Dependencies    map[string]any    `json:"dependencies"`
		DevDependencies map[string]any    `json:"devDependencies"`
		Scripts         map[string]string `json:"scripts"`
	}
	if json.Unmarshal(data, &file) != nil {
		return false
	}
	return file.Dependencies[name] != nil || file.DevDependencies[name] != nil ||
		slices.Contains(strings.Fields(file.Scripts["test"]), name)
}
