package files

import (
	"context"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
)

const commandTimeout = time.Minute

type ripgrepInput struct {
	Pattern string `json:"pattern"`
	Args    string `json:"args"`
}

func runRipgrep(ctx context.Context, d deps, call *tool.Call, in ripgrepInput) (*tool.Result, error) {
	args, err := ripgrepArgs(ctx, d.workspace, in)
	if err != nil {
		return nil, err
	}
	rg := program{workspace: d.workspace, prepare: d.reading}
	if rg.path, err = proc.LookPath("rg", rg.workspace.Root()); err != nil {
		return nil, err
	}
	ended, err := rg.run(ctx, call, args, nil)
	if err != nil {
		return nil, err
	}
	if foundNothing(ended) {
		return tool.Text(noMatches), nil
	}
	// rg exits with 1 without matches, also with options such as --stats, and with 2 if it could
	// not read some file, even if it found matches in others.
	r, err := report("rg", ended, func(code int) bool { return code <= 1 || code == 2 && ended.Stdout.Bytes > 0 })
	if err == nil && ended.ExitCode == 1 {
		r.Contents[0].Text = noMatches + "\n" + r.Contents[0].Text
	}
	return r, err
}

// foundNothing reports whether rg's filters left no file, which some versions report as an error.
func foundNothing(ended *proc.Result) bool {
	if ended.TimedOut || ended.Cancelled || ended.Stdout.Bytes > 0 {
		return false
	}
	said := strings.TrimSpace(ended.Stderr.String())
	filtered := strings.HasPrefix(said, "No files were searched,") && strings.Count(said, "\n") <= 1
	return ended.ExitCode == 1 && said == "" || (ended.ExitCode == 1 || ended.ExitCode == 2) && filtered
}

const noMatches = "No matches found"

// ripgrepArgs returns the arguments of rg. The pattern is an option's value, so that it is not
// taken for an option. The caller's options come after ours, which they may override where
// harmless.
func ripgrepArgs(ctx context.Context, ws *workspace.Workspace, in ripgrepInput) ([]string, error) {
	if in.Pattern == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "search pattern cannot be empty").
			Suggest("Give the text or regular expression to search for.")
	}
	run, err := ripgrepWrapper().Resolve(in.Args, paths{ctx, ws})
	if err != nil {
		return nil, err
	}
	args := []string{
		"--no-config", "--no-ignore-global", "--color=never", "--no-heading", "--line-number", "--sort=path",
		"--max-columns=2000", "--max-columns-preview", // one line of a minified file would displace all others
		"--regexp=" + in.Pattern,
	}
	return append(args, run.Argv[1:]...), nil
}

// ripgrepWrapper declares the options for rg. Others are refused: a later rg may have options that run programs.
func ripgrepWrapper() *argv.Wrapper {
	w := &argv.Wrapper{Command: "rg", Operands: argv.Operands{Type: argv.Read}}
	w.Options = append(w.Options, refusedOptions()...)
	for _, names := range switches() {
		w.Options = append(w.Options, argv.Option{Names: names})
	}
	for _, names := range textOptions() {
		w.Options = append(w.Options, argv.Option{Names: names, Value: argv.String})
	}
	for _, names := range numberOptions() {
		w.Options = append(w.Options, argv.Option{Names: names, Value: argv.Number})
	}
	for _, names := range [][]string{{"-f", "--file"}, {"--ignore-file"}} {
		w.Options = append(w.Options, argv.Option{Names: names, Value: argv.Read})
	}
	return w
}

func refusedOptions() []argv.Option {
	return []argv.Option{
		{Names: []string{"--pre"}, Value: argv.String, Refuse: "it runs a program"},
		{Names: []string{"--pre-glob"}, Value: argv.String, Refuse: "it belongs to --pre"},
		{Names: []string{"--hostname-bin"}, Value: argv.String, Refuse: "it runs a program"},
		{Names: []string{"--search-zip", "-z"}, Refuse: "it runs programs to unpack files"},
		{Names: []string{"--follow", "-L"}, Refuse: "symbolic links may lead out of the workspace"},
		{Names: []string{"--files"}, Refuse: "it lists files and searches for no pattern; use glob or list_files"},
		{Names: []string{"--type-list"}, Refuse: "it searches for no pattern"},
	}
}

func switches() [][]string {
	return [][]string{
		{"-i", "--ignore-case"}, {"-s", "--case-sensitive"}, {"-S", "--smart-case"},
		{"-F", "--fixed-strings"}, {"--no-fixed-strings"}, {"-w", "--word-regexp"}, {"-x", "--line-regexp"},
		{"-v", "--invert-match"}, {"-U", "--multiline"}, {"--no-multiline"}, {"--multiline-dotall"},
		{"-P", "--pcre2"}, {"--no-unicode"}, {"--crlf"}, {"--null-data"}, {"-a", "--text"}, {"--binary"},
		{"-o", "--only-matching"}, {"-l", "--files-with-matches"}, {"--files-without-match"},
		{"-c", "--count"}, {"--count-matches"}, {"--include-zero"}, {"-q", "--quiet"}, {"--stats"}, {"--json"},
		{"-n", "--line-number"}, {"-N", "--no-line-number"}, {"--column"}, {"--no-column"}, {"-b", "--byte-offset"},
		{"-H", "--with-filename"}, {"-I", "--no-filename"}, {"--heading"}, {"--no-heading"}, {"--vimgrep"},
		{"--passthru"}, {"--trim"}, {"-0", "--null"}, {"--max-columns-preview"}, {"--stop-on-nonmatch"},
		{"-u", "--unrestricted"}, {"-.", "--hidden"}, {"--no-hidden"}, {"--no-ignore"}, {"--no-ignore-dot"},
		{"--no-ignore-exclude"}, {"--no-ignore-files"}, {"--no-ignore-parent"}, {"--no-ignore-vcs"},
		{"--ignore-file-case-insensitive"}, {"--glob-case-insensitive"}, {"--no-require-git"},
		{"--one-file-system"}, {"--no-messages"}, {"--no-context-separator"},
	}
}

func textOptions() [][]string {
	return [][]string{
		{"-e", "--regexp"}, {"-g", "--glob"}, {"--iglob"}, {"-t", "--type"}, {"-T", "--type-not"},
		{"--type-add"}, {"--type-clear"}, {"-r", "--replace"}, {"-E", "--encoding"}, {"--engine"},
		{"--sort"}, {"--sortr"}, {"--context-separator"}, {"--field-match-separator"},
		{"--field-context-separator"}, {"--max-filesize"}, {"--path-separator"},
		{"--color"},
	}
}

func numberOptions() [][]string {
	return [][]string{
		{"-A", "--after-context"}, {"-B", "--before-context"}, {"-C", "--context"},
		{"-m", "--max-count"}, {"-M", "--max-columns"}, {"-d", "--max-depth"}, {"-j", "--threads"},
		{"--dfa-size-limit"}, {"--regex-size-limit"},
	}
}

type paths struct {
	ctx       context.Context // of the call
	workspace *workspace.Workspace
}

func (p paths) Check(path string, _ argv.Kind) error {
	_, err := p.workspace.Check(path, workspace.Read)
	return err
}

func (p paths) Glob(pattern string) ([]string, error) {
	return p.workspace.Glob(p.ctx, pattern, workspace.GlobOptions{NoHidden: true})
}

func (p paths) IsDir(path string) bool {
	info, err := p.workspace.Stat(path)
	return err == nil && info.IsDir()
}

// CheckTree accepts everything: rg does not copy or move.
func (p paths) CheckTree(string, string) error { return nil }
