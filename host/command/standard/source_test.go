package standard_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/command/standard"
)

var update = flag.Bool("update", false, "write standard.hcl anew from the specs")

// TestSourceSaysWhatSpecsSay: the text that a project starts from declares the
// tools that are there without it. The specs are Go values because parsing the
// text would cost more than all else when the program starts.
func TestSourceSaysWhatSpecsSay(t *testing.T) {
	want := hclOf(standard.Specs())
	if *update {
		require.NoError(t, os.WriteFile("standard.hcl", []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(standard.Source()), "go test ./host/command/standard -run Source -update writes it anew")
}

// hclOf writes specs as tool blocks.
func hclOf(specs []argv.Spec) string {
	var b strings.Builder
	for i, s := range specs {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "tool %s {\n  description = %s\n  risk        = %s\n  permissions = %s\n\n", quote(s.Name), quote(s.Description), quote(string(s.Risk)), quotes(s.Permissions))
		passthrough(&b, s.Passthrough)
		b.WriteString("\n")
		calls(&b, "example", s.Examples)
		b.WriteString("\n")
		calls(&b, "reject", s.Rejects)
		b.WriteString("}\n")
	}
	return b.String()
}

func passthrough(b *strings.Builder, w *argv.Wrapper) {
	b.WriteString("  passthrough {\n")
	attributes(b, "    ", [][2]string{{"command", quote(w.Command)}, {"prepend", texts(w.Prepend)}, {"number", boolean(w.Number)}})
	for _, o := range w.Options {
		fmt.Fprintf(b, "    option %s", strings.Trim(strings.ReplaceAll(quotes(o.Names), ", ", " "), "[]"))
		attrs := [][2]string{{"value", text(string(o.Value))}, {"optional", boolean(o.Optional)}, {"refuse", text(o.Refuse)}}
		switch set := given(attrs); len(set) {
		case 0:
			b.WriteString(" {}\n")
		case 1:
			fmt.Fprintf(b, " { %s = %s }\n", set[0][0], set[0][1])
		default:
			b.WriteString(" {\n")
			attributes(b, "      ", set)
			b.WriteString("    }\n")
		}
	}
	o := w.Operands
	b.WriteString("    operands {\n")
	attributes(b, "      ", [][2]string{
		{"type", text(string(o.Type))}, {"last", text(string(o.Last))}, {"into", boolean(o.Into)},
		{"min", number(o.Min)}, {"max", number(o.Max)}, {"refuse", text(o.Refuse)}, {"reason", text(o.Reason)},
	})
	b.WriteString("    }\n  }\n")
}

func calls(b *strings.Builder, block string, list []argv.Example) {
	for _, e := range list {
		fmt.Fprintf(b, "  %s { args = %s }\n", block, quote(e.Args))
	}
}

// attributes writes what is given, the equals signs below each other.
func attributes(b *strings.Builder, indent string, attrs [][2]string) {
	attrs = given(attrs)
	width := 0
	for _, a := range attrs {
		width = max(width, len(a[0]))
	}
	for _, a := range attrs {
		fmt.Fprintf(b, "%s%-*s = %s\n", indent, width, a[0], a[1])
	}
}

// given leaves out what has its default.
func given(attrs [][2]string) (set [][2]string) {
	for _, a := range attrs {
		if a[1] != "" {
			set = append(set, a)
		}
	}
	return set
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "${", "$${", "%{", "%%{").Replace(s) + `"`
}

func quotes[S ~string](list []S) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = quote(string(s))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func text(s string) string {
	if s == "" {
		return ""
	}
	return quote(s)
}

func boolean(v bool) string {
	if !v {
		return ""
	}
	return "true"
}

// texts is a list of texts, or "" for none.
func texts(list []string) string {
	if len(list) == 0 {
		return ""
	}
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
