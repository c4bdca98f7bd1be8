package argv_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
)

// jq, sqlite3 and tsc parse their arguments differently from getopt: they have no --, take a value as the next
// word, and jq takes two for one option.
func jq() *argv.Wrapper {
	return &argv.Wrapper{
		Command: "jq", NoSeparator: true, Style: argv.Separate,
		Options: []argv.Option{
			{Names: []string{"-r", "--raw-output"}},
			{Names: []string{"-c"}},
			{Names: []string{"--indent"}, Value: argv.Number},
			{Names: []string{"--arg"}, Values: []argv.Kind{argv.String, argv.String}},
			{Names: []string{"--rawfile"}, Values: []argv.Kind{argv.String, argv.Read}},
		},
		Operands: argv.Operands{First: argv.String, Type: argv.Read, Min: 1},
	}
}

func sqlite() *argv.Wrapper {
	return &argv.Wrapper{
		Command: "sqlite3", Prepend: []string{"-safe"}, NoSeparator: true, Style: argv.Separate,
		Options: []argv.Option{
			{Names: []string{"-json", "--json"}},
			{Names: []string{"-j"}},
			{Names: []string{"-separator"}, Value: argv.String},
		},
		Forbid:   []string{"-son"},
		Operands: argv.Operands{First: argv.Write, Type: argv.String, Min: 2, Max: 2},
	}
}

func tsc() *argv.Wrapper {
	return &argv.Wrapper{
		Command: "tsc", NoSeparator: true, Style: argv.AsWritten,
		Options: []argv.Option{
			{Names: []string{"--strict"}},
			{Names: []string{"-p", "--project"}, Value: argv.Read},
			{Names: []string{"--outDir"}, Value: argv.Write},
			{Names: []string{"--target"}, Value: argv.String},
			{Names: []string{"--level"}, Value: argv.Number},
		},
		Operands: argv.Operands{Type: argv.Read},
	}
}

func TestWithoutSeparator(t *testing.T) {
	tests := map[string]struct {
		wrapper *argv.Wrapper
		args    string
		want    string // the words joined by |
		bad     string
	}{
		"no separator":                {jq(), "-r .a a.go", "jq|-r|.a|a.go", ""},
		"options come first":          {jq(), ".a a.go -r", "jq|-r|.a|a.go", ""},
		"two values":                  {jq(), "--arg k v '$k' a.go", "jq|--arg|k|v|$k|a.go", ""},
		"two values, one a path":      {jq(), "--rawfile k a.go '$k'", "jq|--rawfile|k|a.go|$k", ""},
		"value as a word":             {jq(), "--indent=2 .", "jq|--indent|2|.", ""},
		"the first is no glob":        {jq(), "*.go *.go", "jq|*.go|a.go|b.go", ""},
		"a glob that matches -rf":     {jq(), ". *rf", "jq|.|./-rf", ""},
		"path with a dash after --":   {jq(), ". -- -x", "jq|.|./-x", ""},
		"one operand is the first":    {jq(), "/etc/passwd", "jq|/etc/passwd", ""},
		"dash of several letters":     {sqlite(), "-json a.db 'select 1'", "sqlite3|-safe|-json|a.db|select 1", ""},
		"its value":                   {sqlite(), "-separator , a.db x", "sqlite3|-safe|-separator|,|a.db|x", ""},
		"its value, attached":         {sqlite(), "-separator=, a.db x", "sqlite3|-safe|-separator|,|a.db|x", ""},
		"database with a dash":        {sqlite(), "-- -a.db x", "sqlite3|-safe|./-a.db|x", ""},
		"as written, with a blank":    {tsc(), "--outDir dist a.go", "tsc|--outDir|dist|a.go", ""},
		"as written, with equals":     {tsc(), "--outDir=dist a.go", "tsc|--outDir=dist|a.go", ""},
		"as written, cut short":       {tsc(), "--out=dist --tar es5", "tsc|--outDir=dist|--target|es5", ""},
		"as written, negative":        {tsc(), "--level -5", "tsc|--level|-5", ""},
		"as written, attached dash":   {tsc(), "--target=-x", "tsc|--target=-x", ""},
		"short option is taken apart": {tsc(), "-pa.go", "tsc|-p|a.go", ""},

		"text with a dash": {sqlite(), "a.db -- -readonly", "",
			`would take the operand "-readonly" for an option`},
		"first with a dash":    {jq(), "-- -n a.go", "", `would take the operand "-n" for an option`},
		"a bare dash":          {jq(), "-", "", "for an option"},
		"two values and one":   {jq(), "--arg k", "", "needs 2 values and has 1"},
		"two values, attached": {jq(), "--arg=k v .", "", "as words of their own"},
		"value like an option": {jq(), "--arg k -f .", "",
			`takes no value that begins with a dash, and "-f" does`},
		"name like an option":      {jq(), "--rawfile -f a.go .", "", "takes no value that begins with a dash"},
		"second value outside":     {jq(), "--rawfile k /etc/passwd '$k'", "", "outside"},
		"second operand outside":   {jq(), ". /etc/passwd", "", "outside"},
		"second operand leads out": {jq(), ". leak", "", "outside"},
		"separate value like option": {sqlite(), "-separator -cmd a.db x", "",
			"takes no value that begins with a dash"},
		"attached value like option": {sqlite(), "-separator=-cmd a.db x", "",
			"takes no value that begins with a dash"},
		"written value like option": {tsc(), "--target --all", "", "takes no value that begins with a dash"},
		"short value like option":   {tsc(), "-p -b", "", "takes no value that begins with a dash"},
		"two signs are no number":   {tsc(), "--level --5", "", "takes a number"},
		"undeclared, of one dash":   {sqlite(), "-cmd x a.db y", "", "is not among"},
		"cluster of a declared one": {sqlite(), "-jcmd a.db y", "", "is not among"},
		"forbidden, of one dash":    {sqlite(), "-son a.db x", "", "is refused here"},
		"first outside":             {sqlite(), "/tmp/x.db 'select 1'", "", "outside"},
		"first protected":           {sqlite(), ".git/x 'select 1'", "", "protected"},
		"unquoted braces":           {jq(), "{a,b} a.go", "", "a brace expansion"},
		"fewer operands":            {jq(), "-r", "", "needs at least 1 operand"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			run, err := tt.wrapper.Resolve(tt.args, world)
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

func TestFirstOperand(t *testing.T) {
	t.Run("its path is noted by its own kind", func(t *testing.T) {
		run, err := sqlite().Resolve("a.db 'select 1'", world)
		require.NoError(t, err)
		assert.Equal(t, []string{"a.db"}, run.Writes)
		assert.Empty(t, run.Reads)
	})
	t.Run("first and last", func(t *testing.T) {
		w := &argv.Wrapper{
			Command: "convert", Unknown: "refuse",
			Operands: argv.Operands{First: argv.Number, Type: argv.Read, Last: argv.Write, Min: 2},
		}
		run, err := w.Resolve("5 a.go out", world)
		require.NoError(t, err)
		assert.Equal(t, []string{"convert", "--", "5", "a.go", "out"}, run.Argv)
		assert.Equal(t, []string{"a.go"}, run.Reads)
		assert.Equal(t, []string{"out"}, run.Writes)
		_, err = w.Resolve("five out", world)
		assert.ErrorContains(t, err, "takes a number there")
		_, err = w.Resolve("5 .git/x", world)
		assert.ErrorContains(t, err, "protected")
	})
	t.Run("the only operand", func(t *testing.T) {
		w := &argv.Wrapper{Command: "x", Unknown: "refuse",
			Operands: argv.Operands{First: argv.String, Type: argv.None}}
		run, err := w.Resolve("word", world)
		require.NoError(t, err)
		assert.Equal(t, []string{"x", "--", "word"}, run.Argv)
		_, err = w.Resolve("word more", world)
		assert.ErrorContains(t, err, `takes one operand, and "more" is another`)
	})
}

// A program that ignores -- would take what follows it for an option.
func TestOpenWithoutSeparator(t *testing.T) {
	w := &argv.Wrapper{Command: "jq", NoSeparator: true, Forbid: []string{"-f"}}
	_, err := w.Resolve("-- -f prog.jq", world)
	assert.ErrorContains(t, err, "does not know the separator --")
	run, err := w.Resolve("-r . *rf", world)
	require.NoError(t, err)
	assert.Equal(t, []string{"jq", "-r", ".", "./-rf"}, run.Argv)
}
