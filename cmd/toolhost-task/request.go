package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

const usage = `toolhost-task runs the commands of a Taskfile for toolhost.

  toolhost-task --describe [--steps NAME] --dir DIR --taskfile FILE
  toolhost-task --exact NAME --dir DIR --taskfile FILE [--report fd:N|FILE] [-- ARGS...]
  toolhost-task [options] [NAME...] [VARIABLE=value...] [-- ARGS...]

Options of the last form, as task has them:
  -d, --dir DIR        -t, --taskfile FILE    -l, --list       -a, --list-all
  -j, --json           --sort ORDER           -s, --silent     -v, --verbose
  -f, --force          -n, --dry              -p, --parallel   -F, --failfast
  --summary            --status               -o, --output STYLE
`

type variable struct{ name, value string }

type request struct {
	describe bool
	exact    bool
	report   string
	steps    string // the command whose steps to describe

	dir, taskfile string
	names         []string
	variables     []variable
	// arguments follow the double dash.
	arguments []string

	list, listAll, json         bool
	silent, verbose, force, dry bool
	parallel, failfast, summary bool
	status, exitCode, color     bool
	sort, output                string
}

func parse(args []string) (*request, error) {
	req := new(request)
	flags := pflag.NewFlagSet("toolhost-task", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	name := req.define(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	before := flags.Args()
	if dash := flags.ArgsLenAtDash(); dash >= 0 {
		before, req.arguments = before[:dash], before[dash:]
	}
	req.exact = flags.Changed("exact")
	if req.exact || req.describe {
		req.names = []string{*name}
		return req, req.checkStrict(before)
	}
	return req, req.readWords(before)
}

func (r *request) define(flags *pflag.FlagSet) (exact *string) {
	flags.BoolVar(&r.describe, "describe", false, "")
	flags.StringVar(&r.report, "report", "", "")
	flags.StringVar(&r.steps, "steps", "", "")
	flags.StringVarP(&r.dir, "dir", "d", "", "")
	flags.StringVarP(&r.taskfile, "taskfile", "t", "", "")
	flags.StringVar(&r.sort, "sort", "", "")
	flags.StringVarP(&r.output, "output", "o", "", "")
	for name, option := range map[string]struct {
		value *bool
		short string
	}{
		"list": {&r.list, "l"}, "list-all": {&r.listAll, "a"}, "json": {&r.json, "j"},
		"silent": {&r.silent, "s"}, "verbose": {&r.verbose, "v"}, "force": {&r.force, "f"},
		"dry": {&r.dry, "n"}, "parallel": {&r.parallel, "p"}, "failfast": {&r.failfast, "F"},
		"summary": {&r.summary, ""}, "status": {&r.status, ""}, "exit-code": {&r.exitCode, "x"},
		"color": {&r.color, "c"},
	} {
		flags.BoolVarP(option.value, name, option.short, false, "")
	}
	return flags.String("exact", "", "")
}

// checkStrict refuses extra words in toolhost's own forms.
func (r *request) checkStrict(words []string) error {
	switch {
	case len(words) > 0:
		return fmt.Errorf("unexpected argument %q", words[0])
	case r.dir == "" || r.taskfile == "":
		return errors.New("--dir and --taskfile are required")
	case r.describe && r.exact:
		return errors.New("--describe and --exact exclude each other")
	}
	return nil
}

// readWords separates names and variables as task does.
func (r *request) readWords(words []string) error {
	for _, word := range words {
		name, value, isVariable := strings.Cut(word, "=")
		switch {
		case !isVariable:
			r.names = append(r.names, word)
		case name == "" || strings.HasPrefix(name, "CLI_"):
			return fmt.Errorf("%q is not a variable that can be set", word)
		default:
			r.variables = append(r.variables, variable{name, value})
		}
	}
	if len(r.names) == 0 {
		r.names = []string{"default"}
	}
	if r.list && r.listAll {
		return errors.New("--list and --list-all exclude each other")
	}
	return nil
}
