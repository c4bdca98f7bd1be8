// Package danger classifies shell commands by the damage they could do, by what they would run and not by how they
// are written.
//
// It decides when to ask. What a command can actually do is limited by its sandbox: no list of commands is ever
// complete.
//
// # The rules
//
// The rules are in rules.txt, one setting per line; indentation means nothing. An entry starts with program, tool,
// interpreter or runner and the names it is about; a name that ends in * is a prefix. The rules of programs and
// tools start with blocked, caution or fine and the reason, in which %s is the word that the rule is about. The
// first rule of a program whose conditions are all met decides:
//
//	words A|B C     the operands start with these; * is any word
//	verbs A|B C     so do they, or after one or two values of options
//	option, unless  one, or none, of these options is there
//	line, operands  the arguments, or operands, one per line, match an expression
//	of WHICH        one of these words is as by "like" and "at": args, operands,
//	                first (argument), operand (first), last (operand), leading
//	                (before options), input, NAME= or an option for its values
//	like            the word matches an expression
//	at              the word names such a place; see namedPath.is
//
// An entry's "valued" are the options whose value is the next word. The "like" of an interpreter are expressions
// for dangerous code. A runner runs what follows its options, and its verbs if there are any; "joined" makes a
// shell line of it, "line" finds shell lines in arguments, "after" names the options before a command, "inside"
// verbs with a place before the command.
package danger

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Class is how dangerous a command is.
type Class int

const (
	// Fine commands run without a question.
	Fine Class = iota
	// Caution is for commands that can destroy work, or cannot be read for certain: they need confirmation.
	Caution
	// Blocked commands have no sensible use here and never run.
	Blocked
)

// Verdict is the class of a line.
type Verdict struct {
	Class Class
	// Reason explains the class, such as "recursive delete on root"; "" for Fine.
	Reason string
	// Command is the command concerned, for people.
	Command string
}

// Options are the context of a line.
type Options struct {
	// Root is the absolute path of the workspace, which is never part of the system.
	Root string
	// Dir is the directory in which the line starts; by default Root.
	Dir string
	// ReadFile reads a file of the workspace, for scripts that the line runs. May be nil.
	ReadFile func(name string) (content string, ok bool)
}

// maxScripts limits the depth of scripts that call each other.
const maxScripts = 4

const maxShown = 4 << 10 // bytes

// Judge judges a shell line.
func Judge(line string, o Options) Verdict {
	j := &judge{Options: o, cwd: o.Dir}
	if j.cwd == "" {
		j.cwd = o.Root
	}
	j.line(line, 0)
	return j.verdict
}

type judge struct {
	Options
	// cwd is the directory in which a command of the line runs, as far as known from cd.
	cwd     string
	verdict Verdict
}

// found keeps a verdict if it is stronger than the present one.
func (j *judge) found(class Class, about string, format string, args ...any) {
	if class > j.verdict.Class {
		j.verdict = Verdict{Class: class, Reason: fmt.Sprintf(format, args...),
			Command: truncate.Shorten(about, maxShown)}
	}
}

func (j *judge) line(line string, depth int) {
	if isForkBomb(line) {
		j.found(Blocked, line, "fork bomb")
	}
	reading := policy.Read(line)
	if reading.Unreadable != "" {
		j.found(Caution, line, "the command cannot be read for certain: %s", reading.Unreadable)
	}
	for i := range reading.Commands {
		j.command(&reading.Commands[i], depth)
	}
	for _, w := range reading.Writes {
		j.write(w)
	}
}

func (j *judge) write(w policy.Write) {
	p := j.namedPath(w.Target)
	switch {
	case p.harmlessDevice():
	case strings.HasPrefix(p.path, "/dev/tcp/"), strings.HasPrefix(p.path, "/dev/udp/"):
		j.found(Caution, "> "+w.Target.Text, "sends data over the network")
	case p.system() || p.shellSettings():
		j.found(Blocked, "> "+w.Target.Text, "destructive write to %s", w.Target.Text)
	case w.Bare && !w.Append:
		j.found(Caution, "> "+w.Target.Text, "empties %s", w.Target.Text)
	}
}

func (j *judge) command(c *policy.Command, depth int) {
	name := c.Program()
	about := shown(c)
	if asksForHelp(c) {
		return
	}
	if name == "cd" || name == "pushd" {
		j.enter(c)
		return
	}
	class, reason := j.judged(c)
	j.found(class, about, "%s", reason)
	j.code(c, about)
	j.script(c, depth)
	j.runs(c, depth)
}

func (j *judge) enter(c *policy.Command) {
	for _, w := range c.Words[1:] {
		if !strings.HasPrefix(w.Text, "-") && !w.Dynamic {
			j.cwd = j.namedPath(w).path
			return
		}
	}
	if len(c.Words) == 1 {
		j.cwd = homeMark
	}
}

func asksForHelp(c *policy.Command) bool {
	last := len(c.Words) - 1
	if last < 1 || !slices.Contains([]string{"--help", "--version"}, c.Words[last].Text) {
		return false
	}
	return last == 1 || last == 2 && len(rules().about(c.Program(), "tool")) > 0
}

func (j *judge) script(c *policy.Command, depth int) {
	name := scriptOf(c)
	if sourcesStream(c) {
		j.found(Caution, shown(c), "the command cannot be read for certain: %s reads its commands from a stream",
			c.Words[0].Text)
	}
	if name == "" || j.ReadFile == nil || depth >= maxScripts {
		return
	}
	if !path.IsAbs(name) && strings.HasPrefix(j.cwd, "/") {
		name = path.Join(j.cwd, name)
	}
	content, ok := j.ReadFile(name)
	if !ok || !isShellScript(c, content) {
		return
	}
	before, cwd := j.verdict, j.cwd
	j.line(content, depth+1)
	j.cwd = cwd
	if j.verdict.Class > before.Class {
		j.verdict.Reason = fmt.Sprintf("%s (in the script %s)", j.verdict.Reason, name)
	}
}

// sourcesStream reports whether a script comes from another command's output, or the input.
func sourcesStream(c *policy.Command) bool {
	if c.Words[0].Text != "source" && c.Words[0].Text != "." && !isShell(c.Program()) {
		return false
	}
	return slices.ContainsFunc(c.Words[1:], func(w policy.Word) bool {
		return matches(`^(<\(|/dev/stdin$|/dev/fd/|/proc/self/fd/)`, w.Text)
	})
}

// scriptOf returns the file that a command runs as a script, "" if none.
func scriptOf(c *policy.Command) string {
	name := c.Program()
	if slices.Contains([]string{"source", "."}, c.Words[0].Text) || isShell(name) {
		if isShell(name) && c.Has("-c") {
			return ""
		}
		for _, w := range c.Words[1:] {
			if !strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "+") {
				return plain(w)
			}
		}
		return ""
	}
	if strings.Contains(c.Words[0].Text, "/") {
		return plain(c.Words[0])
	}
	return ""
}

func plain(w policy.Word) string {
	if w.Dynamic {
		return ""
	}
	return w.Text
}

func isShell(name string) bool {
	return slices.Contains(rules().lists["shells"], name)
}

// isShellScript distinguishes shell scripts from other files.
func isShellScript(c *policy.Command, content string) bool {
	if isShell(c.Program()) || c.Words[0].Text == "source" || c.Words[0].Text == "." {
		return true
	}
	first, _, _ := strings.Cut(content, "\n")
	if !strings.HasPrefix(first, "#!") {
		return false
	}
	for _, word := range strings.Fields(strings.TrimPrefix(first, "#!")) {
		if isShell(path.Base(word)) {
			return true
		}
	}
	return false
}

func shown(c *policy.Command) string {
	texts := make([]string, len(c.Words))
	for i, w := range c.Words {
		texts[i] = w.Text
	}
	return truncate.Shorten(strings.Join(texts, " "), 200)
}
