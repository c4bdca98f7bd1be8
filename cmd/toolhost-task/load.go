package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-task/task/v3"
	"github.com/go-task/task/v3/taskfile"
	"github.com/go-task/task/v3/taskfile/ast"

	"github.com/toolhost/toolhost/internal/source/taskincludes"
)

// loaded is a Taskfile with its includes, read without running anything. go-task's set-up would run
// `sh:` variables if there are dotenv files.
type loaded struct {
	executor *task.Executor
	// order ranks commands as written: the file's own first, then those of each include.
	order map[string]int
	// files are what the listing depends on.
	files []string
}

// readTimeout bounds reading from a slow file system; remote includes are refused.
const readTimeout = 10 * time.Second

// load reads the Taskfile of req. It returns the files even on failure.
func load(ctx context.Context, req *request) (*loaded, error) {
	l := &loaded{order: make(map[string]int)}
	entry, dir, err := l.entry(req)
	if err != nil {
		return l, err
	}
	node, err := taskfile.NewRootNode(entry, dir, false, readTimeout)
	if err != nil {
		return l, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	graph, err := taskfile.NewReader(
		taskfile.WithOffline(true),
		taskfile.WithTempDir(filepath.Join(node.Dir(), ".task")),
		taskfile.WithPromptFunc(refusePrompt),
	).Read(ctx, node)
	if err != nil {
		return l, err
	}
	if err := l.survey(graph, node.Location()); err != nil {
		return l, err
	}
	merged, err := graph.Merge()
	if err != nil {
		return l, err
	}
	if err := checkVersion(node.Location(), merged); err != nil {
		return l, err
	}
	return l, l.compile(node, merged)
}

// entry returns the Taskfile's path and its commands' directory. Only regular files are opened, so that
// nothing hangs.
func (l *loaded) entry(req *request) (entry, dir string, err error) {
	if req.taskfile == "" {
		return "", req.dir, nil
	}
	entry, err = filepath.Abs(req.taskfile)
	if err != nil {
		return "", "", err
	}
	l.files = append(l.files, entry)
	info, err := os.Stat(entry)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", &noTaskfileError{entry}
	case err != nil:
		return "", "", err
	case !req.strict():
	case !info.Mode().IsRegular():
		return "", "", &unreadableError{"it is not a regular file"}
	case info.Size() > taskincludes.Largest: // go-task takes gigabytes to report an error in a large file
		return "", "", &unreadableError{"it is larger than 1 MiB"}
	}
	return entry, req.dir, nil
}

// strict reports whether the form is one of toolhost's own.
func (r *request) strict() bool { return r.exact || r.describe }

type unreadableError struct{ why string }

func (e *unreadableError) Error() string { return e.why }

type noTaskfileError struct{ path string }

func (e *noTaskfileError) Error() string { return "there is no Taskfile at " + e.path }

// refusePrompt does not trust a remote Taskfile.
func refusePrompt(string) error { return errNoPrompt }

// survey notes the files and the order of commands, which go-task's merge loses.
func (l *loaded) survey(graph *ast.TaskfileGraph, root string) error {
	edges, err := graph.AdjacencyMap()
	if err != nil {
		return err
	}
	children := make(map[string]map[string]string)
	for source, targets := range edges {
		l.files = append(l.files, source)
		children[source] = make(map[string]string)
		for target, edge := range targets {
			includes, _ := edge.Properties.Data.([]*ast.Include)
			for _, include := range includes {
				children[source][include.Namespace] = target
			}
		}
	}
	visit := func(uri string) *ast.Taskfile {
		vertex, err := graph.Vertex(uri)
		if err != nil {
			return nil
		}
		return vertex.Taskfile
	}
	l.rank(visit, children, root, func(name string) string { return name })
	return nil
}

// rank numbers the commands of the file at uri, then those of its includes. qualify returns a command's
// name in the whole.
func (l *loaded) rank(file func(string) *ast.Taskfile, children map[string]map[string]string, uri string,
	qualify func(string) string) {
	tf := file(uri)
	if tf == nil {
		return
	}
	for name := range tf.Tasks.All(nil) {
		if full := qualify(name); l.order[full] == 0 {
			l.order[full] = len(l.order) + 1
		}
	}
	for namespace, include := range tf.Includes.All() {
		l.noteInclude(uri, include)
		l.rank(file, children, children[uri][namespace], func(name string) string {
			return qualify(included(include, name))
		})
	}
}

// included returns the name of an included file's command in the including file.
func included(include *ast.Include, name string) string {
	if include.Flatten {
		return name
	}
	if rooted, ok := strings.CutPrefix(name, ast.NamespaceSeparator); ok {
		return rooted
	}
	return include.Namespace + ast.NamespaceSeparator + name
}

// noteInclude adds an include's path: a directory whose entries decide which file is taken, or a
// missing optional file. A path with a template counts by the file it led to.
func (l *loaded) noteInclude(uri string, include *ast.Include) {
	path := include.Taskfile
	if path == "" || strings.Contains(path, "{{") || taskfile.IsRemoteEntrypoint(path) {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(uri), path)
	}
	l.files = append(l.files, path)
}

// compile sets up an executor for looking up commands and their descriptions. Variables computed by a
// command are empty.
func (l *loaded) compile(node taskfile.Node, merged *ast.Taskfile) error {
	e := task.NewExecutor(
		task.WithDir(node.Dir()),
		task.WithEntrypoint(node.Location()),
		task.WithDisableFuzzy(true),
		task.WithTaskSorter(l.sort),
	)
	e.Taskfile = merged
	workingDir, err := os.Getwd()
	if err != nil {
		return err
	}
	e.Compiler = &task.Compiler{
		Dir: node.Dir(), Entrypoint: node.Location(), UserWorkingDir: workingDir,
		TaskfileEnv: merged.Env, TaskfileVars: merged.Vars,
	}
	l.executor = e
	return l.readDotenv(merged, node.Dir())
}

// readDotenv makes dotenv values available to descriptions, as go-task does.
func (l *loaded) readDotenv(merged *ast.Taskfile, dir string) error {
	if len(merged.Dotenv) == 0 {
		return nil
	}
	for _, path := range merged.Dotenv {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		l.files = append(l.files, path)
	}
	variables, err := l.executor.Compiler.FastGetVariables(nil, nil)
	if err != nil {
		return err
	}
	values, err := taskfile.Dotenv(variables, merged, dir)
	if err != nil {
		return err
	}
	for name, value := range values.All() {
		if _, set := merged.Env.Get(name); !set {
			merged.Env.Set(name, value)
		}
	}
	return nil
}

// sort orders names as in the Taskfile.
func (l *loaded) sort(names, _ []string) []string {
	slices.SortStableFunc(names, func(a, b string) int { return l.position(a) - l.position(b) })
	return names
}

// position returns a name's rank, or the end if it is not in the files, which should not happen.
func (l *loaded) position(name string) int {
	if at, ok := l.order[name]; ok {
		return at
	}
	return len(l.order) + 1
}
