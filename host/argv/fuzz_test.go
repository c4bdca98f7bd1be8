package argv_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/argv"
)

// FuzzURITemplate checks that the values of a template are read back from the URI.
func FuzzURITemplate(f *testing.F) {
	f.Add("note://{id}", "a b/c")
	f.Add("x://{+path}", "a/b")
	f.Add("x://{a}-{b}", "e\u0301%")
	f.Add("{", "}")
	f.Add("{a}{b}", " ")
	f.Fuzz(func(t *testing.T, template, value string) {
		parsed, err := argv.ParseURITemplate(template)
		if err != nil || value == "" {
			return
		}
		uri := template
		for _, name := range parsed.Names() {
			uri = strings.Replace(uri, "{+"+name+"}", url.PathEscape(value), 1)
			uri = strings.Replace(uri, "{"+name+"}", url.PathEscape(value), 1)
		}
		values, ok := parsed.Match(uri)
		if !ok {
			t.Fatalf("%q does not match %q", uri, template)
		}
		if len(parsed.Names()) == 1 && values[parsed.Names()[0]] != value {
			t.Fatalf("%q in %q came back as %q", value, template, values)
		}
	})
}

// FuzzWithoutSeparator checks that each argument with a leading dash is a declared option, or the value of one.
func FuzzWithoutSeparator(f *testing.F) {
	f.Add("-r --arg k v . a.go -- -x")
	f.Add("-json -separator=-cmd a.db 'select 1'")
	f.Add("--outDir dist --level -5 -p a.go *rf -")
	f.Fuzz(func(t *testing.T, args string) {
		for _, w := range []*argv.Wrapper{jq(), sqlite(), tsc()} {
			run, err := w.Resolve(args, world)
			if err != nil {
				continue
			}
			words := run.Argv[1+len(w.Prepend):]
			for len(words) > 0 {
				words = words[1+declaredValues(t, w, words[0]):]
			}
		}
	})
}

// declaredValues returns how many words belong to an option, and fails the test for an undeclared one.
func declaredValues(t *testing.T, w *argv.Wrapper, word string) int {
	t.Helper()
	if !strings.HasPrefix(word, "-") {
		return 0
	}
	name, _, attached := strings.Cut(word, "=")
	for _, o := range w.Options {
		switch {
		case !slices.Contains(o.Names, name):
		case len(o.Values) > 0:
			return len(o.Values)
		case o.Value == "" || attached:
			return 0
		default:
			return 1
		}
	}
	t.Fatalf("%q reaches %s as an option", word, w.Command)
	return 0
}
