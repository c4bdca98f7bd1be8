package main

import (
	"encoding/json"
	"fmt"

	"github.com/go-task/task/v3"
	"github.com/go-task/task/v3/taskfile/ast"

	"github.com/toolhost/toolhost/internal/source/taskprotocol"
)

// maxSteps bounds the steps that are returned for one command.
const maxSteps = 500

// steps returns what a command runs, and what the commands that it calls run. Templates are not expanded: nothing is
// run.
func (l *loaded) steps(name string) (steps []protocol.Step, err error) {
	first, err := l.executor.GetTask(&task.Call{Task: name})
	if err != nil {
		return nil, err
	}
	every := &stepWriter{}
	every.vars("variable", l.executor.Taskfile.Vars)
	every.vars("environment", l.executor.Taskfile.Env)
	if len(every.lines) > 0 {
		steps = append(steps, protocol.Step{Name: "every command", Lines: every.lines})
	}
	seen := make(map[*ast.Task]bool)
	for queue := []*ast.Task{first}; len(queue) > 0; queue = queue[1:] {
		t := queue[0]
		if seen[t] {
			continue
		}
		seen[t] = true
		if len(steps) == maxSteps {
			return append(steps, protocol.Step{Name: "more", Lines: []string{"more commands than can be shown"}}), nil
		}
		w := &stepWriter{}
		w.task(t)
		step := protocol.Step{Name: t.Name(), Lines: w.lines}
		if t.Location != nil {
			step.File, step.Line = t.Location.Taskfile, t.Location.Line
		}
		steps = append(steps, step)
		for _, other := range w.others {
			if next, err := l.executor.GetTask(&task.Call{Task: other}); err == nil {
				queue = append(queue, next)
			}
		}
	}
	return steps, nil
}

// stepWriter writes what a Taskfile's command runs, as written there.
type stepWriter struct {
	lines  []string
	others []string // commands that it calls
}

func (w *stepWriter) add(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *stepWriter) task(t *ast.Task) {
	if t.Dir != "" {
		w.add("dir: %s", t.Dir)
	}
	for _, file := range t.Dotenv {
		w.add("dotenv: %s", file)
	}
	w.vars("variable", t.IncludeVars)
	w.vars("variable", t.IncludedTaskfileVars)
	w.vars("variable", t.Vars)
	w.vars("environment", t.Env)
	for _, dep := range t.Deps {
		if dep != nil {
			w.call("first", dep.Task, dep.For, dep.Vars)
		}
	}
	if t.If != "" {
		w.add("if: %s", t.If)
	}
	for _, line := range t.Status {
		w.add("status: %s", line)
	}
	for _, p := range t.Preconditions {
		if p != nil {
			w.add("precondition: %s", p.Sh)
		}
	}
	for _, c := range t.Cmds {
		if c != nil {
			w.command(c)
		}
	}
}

func (w *stepWriter) command(c *ast.Cmd) {
	label := "$ "
	if c.Defer {
		label = "at the end: $ "
	}
	if c.If != "" {
		w.add("if: %s", c.If)
	}
	if c.Task != "" {
		w.call(map[bool]string{false: "then", true: "at the end"}[c.Defer], c.Task, c.For, c.Vars)
		return
	}
	w.loop(c.For)
	w.add("%s%s", label, c.Cmd)
}

func (w *stepWriter) call(when, name string, loop *ast.For, vars *ast.Vars) {
	w.loop(loop)
	w.add("%s: command %s", when, name)
	w.vars("  variable", vars)
	w.others = append(w.others, name)
}

func (w *stepWriter) loop(f *ast.For) {
	if f != nil {
		w.add("for each of: %s", text(f))
	}
}

func (w *stepWriter) vars(kind string, vars *ast.Vars) {
	if vars == nil {
		return
	}
	for name, v := range vars.All() {
		switch {
		case v.Sh != nil:
			w.add("%s %s from: $ %s", kind, name, *v.Sh)
		case v.Ref != "":
			w.add("%s %s = the value of %s", kind, name, v.Ref)
		case v.Secret:
			w.add("%s %s = (secret)", kind, name)
		default:
			w.add("%s %s = %s", kind, name, text(v.Value))
		}
	}
}

// text returns a string unchanged, or another value as JSON.
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}
