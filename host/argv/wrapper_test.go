package argv_test

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

// paths is a workspace of imaginary files: relative paths that stay inside may be used, .git may not be
// written.
type paths struct {
	files []string
	dirs  []string
}

func (paths) Check(p string, use argv.Kind) error {
	clean := path.Clean(p)
	if path.IsAbs(p) || clean == ".." || strings.HasPrefix(clean, "../") || clean == "leak" {
		return tool.Errorf(tool.PathOutsideWorkspace, "%s is outside", p)
	}
	if use != argv.Read && (clean == ".git" || strings.HasPrefix(clean, ".git/")) {
		return tool.Errorf(tool.PermissionDenied, "%s is protected", p)
	}
	return nil
}

func (w paths) Glob(pattern string) ([]string, error) {
	var found []string
	for _, f := range w.files {
		if ok, _ := filepath.Match(pattern, f); ok {
			found = append(found, f)
		}
	}
	return found, nil
}

// CheckTree has one file in each directory: x.
func (w paths) CheckTree(source, target string) error {
	if !w.IsDir(source) {
		return nil
	}
	return w.Check(target+"/x", argv.Write)
}

func (w paths) IsDir(p string) bool {
	for _, d := range w.dirs {
		if path.Clean(p) == d {
			return true
		}
	}
	return false
}

var world = paths{files: []string{"a.go", "b.go", "-rf"}, dirs: []string{".", "dir"}}

func head() *argv.Wrapper {
	return &argv.Wrapper{
		Command: "head", Number: true,
		Options: []argv.Option{
			{Names: []string{"-n", "--lines"}, Value: argv.Number},
			{Names: []string{"-c", "--bytes"}, Value: argv.Number},
			{Names: []string{"-q", "--quiet", "--silent"}},
			{Names: []string{"-v", "--verbose"}},
			{Names: []string{"-S", "--suffix"}, Value: argv.String},
			{Names: []string{"--files-from"}, Value: argv.Read},
			{Names: []string{"--backup"}, Value: argv.String, Optional: true},
			{Names: []string{"-f", "--follow"}, Refuse: "it never ends"},
		},
		Operands: argv.Operands{Type: argv.Read, Max: 3},
	}
}

func TestStrictWrapper(t *testing.T) {
	tests := map[string]struct {
		args string
		want string // the words joined by |
		bad  string
	}{
		"separate value":        {"-n 20 a.go", "head|-n|20|--|a.go", ""},
		"attached value":        {"-n20 a.go", "head|-n|20|--|a.go", ""},
		"long with equals":      {"--lines=20 a.go", "head|--lines=20|--|a.go", ""},
		"long with space":       {"--lines 20 a.go", "head|--lines=20|--|a.go", ""},
		"long cut short":        {"--li 20", "head|--lines=20|--", ""},
		"cluster":               {"-qv a.go", "head|-q|-v|--|a.go", ""},
		"cluster with value":    {"-qn5 a.go", "head|-q|-n|5|--|a.go", ""},
		"a count":               {"-5 a.go", "head|-n|5|--|a.go", ""},
		"options behind":        {"a.go -q", "head|-q|--|a.go", ""},
		"after two dashes":      {"-- -q", "head|--|-q", ""},
		"optional value":        {"--backup=x --backup a.go", "head|--backup=x|--backup|--|a.go", ""},
		"glob":                  {"*.go", "head|--|a.go|b.go", ""},
		"glob without a match":  {"*.c", "head|--|*.c", ""},
		"a match is no option":  {"-- *rf", "head|--|-rf", ""},
		"a match is no option2": {"*rf", "head|--|-rf", ""},
		"dash alone":            {"-", "head|--|-", ""},
		"signed number":         {"-n +5 -c -3K", "head|-n|+5|-c|-3K|--", ""},
		"quoted blank":          {`'a b'`, "head|--|a b", ""},
		"glob as text value":    {"--suffix *.go b.go", "head|--suffix=*.go|--|b.go", ""},
		"glob as short value":   {"-S *.go", "head|-S|*.go|--", ""},
		"glob as path value":    {"--files-from *.go x", "head|--files-from=a.go|--|b.go|x", ""},
		"braces in a value":     {"--suffix *.{c,h} x", "head|--suffix=*.{c,h}|--|x", ""},
		"quoted braces":         {`'{a,b}' "{1..3}"`, "head|--|{a,b}|{1..3}", ""},
		"braces that are plain": {"{a} x{}y", "head|--|{a}|x{}y", ""},

		"unknown short":           {"-z", "", "-z of head is not among"},
		"unknown long":            {"--zero", "", "--zero of head is not among"},
		"unknown, near":           {"--lnies=3", "", "did you mean --lines?"},
		"brace expansion":         {"x src/{a,b}.go", "", "a brace expansion ({a,b}) at column 3"},
		"empty braces":            {"x {,}", "", "a brace expansion ({a,b}) at column 3"},
		"brace range":             {"f{1..3}", "", "a brace expansion"},
		"500 braces":              {strings.Repeat("{", 500), "head|--|" + strings.Repeat("{", 500), ""},
		"501 braces":              {strings.Repeat("{", 501), "", "a brace expansion"},
		"501 quoted braces":       {"'" + strings.Repeat("{", 501) + "'", "head|--|" + strings.Repeat("{", 501), ""},
		"very many braces":        {strings.Repeat("{", 100_000), "", "a brace expansion"},
		"refused":                 {"-f a.go", "", "is refused here: it never ends"},
		"refused in a cluster":    {"-qf a.go", "", "it never ends"},
		"refused, cut short":      {"--fol a.go", "", "it never ends"},
		"ambiguous":               {"--f a.go", "", "is ambiguous"},
		"missing value":           {"-n", "", "needs a value"},
		"value for a switch":      {"--quiet=yes", "", "takes no value"},
		"no number":               {"-n many", "", "takes a number"},
		"operand outside":         {"../x", "", "outside"},
		"absolute operand":        {"/etc/passwd", "", "outside"},
		"symlink out":             {"leak", "", "outside"},
		"value outside":           {"--files-from=/etc/passwd", "", "outside"},
		"value outside, separate": {"--files-from ../x", "", "outside"},
		"value outside, short":    {"--files=/x", "", "outside"},
		"empty operand":           {"''", "", "empty path"},
		"too many operands":       {"a b c d", "", "at most 3"},
		"operator":                {"a | b", "", "a pipe"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			run, err := head().Resolve(tt.args, world)
			if tt.bad != "" {
				require.Error(t, err)
				assert.Contains(t, err.Error(), tt.bad)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, strings.Join(run.Argv, "|"))
		})
	}
}

func TestLastOperand(t *testing.T) {
	cp := &argv.Wrapper{
		Command: "cp",
		Options: []argv.Option{{Names: []string{"-r"}},
			{Names: []string{"-t", "--target-directory"}, Value: argv.Write}},
		Operands: argv.Operands{Type: argv.Read, Last: argv.Write, Into: true, Min: 2},
	}
	tests := map[string]struct {
		args   string
		writes []string
		bad    string
	}{
		"file to file":         {"a.go c.go", []string{"c.go"}, ""},
		"into a directory":     {"a.go b.go dir", []string{"dir/a.go", "dir/b.go"}, ""},
		"into the root":        {"a.go .", []string{"./a.go"}, ""},
		"of protected":         {".git/config c", []string{"c"}, ""},
		"to protected":         {"a.go .git/config", nil, "protected"},
		"protected name in":    {"x/.git .", nil, "protected"},
		"the content of a dir": {"-r dir/. .", nil, "cannot be told"},
		"a parent":             {"-r .. dir", nil, "outside"},
		"one operand":          {"a.go", nil, "at least 2"},
		"out":                  {"a.go ../c", nil, "outside"},
		"target outside":       {"-t /tmp a.go b.go", nil, "outside"},
		"target cut short":     {"--target=/tmp a.go b.go", nil, "outside"},
		"a tree":               {"-r dir new", []string{"new"}, ""},
		"a tree to protected":  {"-r dir .git/../.git", nil, "protected"},
		"a tree onto a link":   {"-r dir leak", nil, "outside"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			run, err := cp.Resolve(tt.args, world)
			if tt.bad != "" {
				require.Error(t, err)
				assert.Contains(t, err.Error(), tt.bad)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.writes, run.Writes)
		})
	}
}

func TestRefusedOperands(t *testing.T) {
	w := &argv.Wrapper{Command: "count", Options: []argv.Option{{Names: []string{"-q"}}},
		Operands: argv.Operands{Refuse: `\.zip$`, Reason: "it would be unpacked"}}
	_, err := w.Resolve("-q a.go b.zip", world)
	require.Error(t, err)
	assert.Equal(t, `count refuses the operand "b.zip": it would be unpacked`, err.Error())
	_, err = w.Resolve("a.go", world)
	require.NoError(t, err)

	open := &argv.Wrapper{Command: "count", Operands: argv.Operands{Refuse: `\.zip$`}}
	_, err = open.Resolve("b.zip", world)
	require.Error(t, err)
	broken := &argv.Wrapper{Command: "count", Operands: argv.Operands{Refuse: `(`}}
	_, err = broken.Resolve("b", world)
	require.Error(t, err, "a pattern that does not parse refuses everything")
}

func TestTooFewOperandsSayHowTheyAreWritten(t *testing.T) {
	for want, o := range map[string]argv.Operands{
		`Write them in args: "PATH".`:             {Min: 1},
		`Write them in args: "PATH PATH TARGET".`: {Type: argv.Read, Last: argv.Write, Min: 3},
		`Write them in args: "WORD WORD".`:        {Type: argv.String, Min: 2},
	} {
		for _, options := range [][]argv.Option{nil, {{Names: []string{"-a"}}}} { // any option, or a declared one
			w := argv.Wrapper{Command: "x", Options: options, Operands: o}
			_, err := w.Resolve("", nil)
			assert.ErrorContains(t, err, "x needs at least")
			assert.Equal(t, want, tool.AsError(err).Suggestion)
		}
	}
}

func TestADashForThePrograms(t *testing.T) {
	touch := &argv.Wrapper{Command: "touch", Options: []argv.Option{{Names: []string{"-a"}}},
		Operands: argv.Operands{Type: argv.Write}}
	run, err := touch.Resolve("-", world)
	require.NoError(t, err)
	assert.Equal(t, []string{"touch", "--", "./-"}, run.Argv, "a file of that name, not the program's output")
}

func TestOpenWrapper(t *testing.T) {
	w := &argv.Wrapper{Command: "tail", Prepend: []string{"-q"}, Forbid: []string{"--follow", "-f"}}
	tests := map[string]struct{ args, want, bad string }{
		"order stays":           {"-n 5 a.go -v", "tail|-q|-n|5|a.go|-v", ""},
		"text that is no path":  {"hello", "tail|-q|hello", ""},
		"a match with a dash":   {"*rf", "tail|-q|./-rf", ""},
		"forbidden":             {"--follow a", "", "is refused here"},
		"forbidden, cut short":  {"--foll a", "", "is refused here"},
		"forbidden with value":  {"--follow=name a", "", "is refused here"},
		"forbidden in cluster":  {"-vf a", "", "is refused here"},
		"path outside":          {"../x", "", "outside"},
		"absolute":              {"/etc/passwd", "", "outside"},
		"value outside":         {"--out=/etc/x", "", "outside"},
		"attached outside":      {"-o/etc/x", "", "outside"},
		"symlink out":           {"leak", "", "outside"},
		"hidden dots":           {"a/../../x", "", "outside"},
		"in a cluster, outside": {"-vo/etc/x", "", "may hold a path outside"},
		"in a cluster, dots":    {"-vo../x", "", "may hold a path outside"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			run, err := w.Resolve(tt.args, world)
			if tt.bad != "" {
				require.Error(t, err)
				assert.Contains(t, err.Error(), tt.bad)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, strings.Join(run.Argv, "|"))
		})
	}
}

// FuzzStrictWrapper checks that accepted args have the form that was checked: declared options under their full
// names, then --, then paths.
func FuzzStrictWrapper(f *testing.F) {
	for _, s := range []string{"-n 5 a", "-qvn5 a b", "--li=3 -- -x", "-5", "--backup=x *", "--files-from ../x",
		"-\xff", "'' -", "-S0 --suf=1"} {
		f.Add(s)
	}
	values := []string{"-n", "-c", "-S"}
	options := []string{"-q", "-v", "--quiet", "--silent", "--verbose", "--backup"}
	valued := []string{"--lines=", "--bytes=", "--suffix=", "--files-from=", "--backup="}
	f.Fuzz(func(t *testing.T, args string) {
		run, err := head().Resolve(args, world)
		if err != nil {
			assert.NotEmpty(t, tool.AsError(err).Code)
			return
		}
		rest := run.Argv[1:]
		for rest[0] != "--" {
			switch word := rest[0]; {
			case slices.Contains(values, word):
				rest = rest[2:]
				continue
			case slices.Contains(options, word):
			case slices.ContainsFunc(valued, func(v string) bool { return strings.HasPrefix(word, v) }):
			default:
				t.Fatalf("%q passed as an option in %q", word, run.Argv)
			}
			rest = rest[1:]
		}
		for _, operand := range rest[1:] {
			require.NoError(t, world.Check(operand, argv.Read), "%q in %q", operand, run.Argv)
		}
	})
}
