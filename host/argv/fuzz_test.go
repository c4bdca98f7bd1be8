package argv_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/argv"
)

// FuzzURITemplate: what a template is filled with comes back from the URI.
func FuzzURITemplate(f *testing.F) {
	f.Add("note://{id}", "a b/c")
	f.Add("x://{+path}", "a/b")
	f.Add("x://{a}-{b}", "e\u0301%")
	f.Add("{", "}")
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
