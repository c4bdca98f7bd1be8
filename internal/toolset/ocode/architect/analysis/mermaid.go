package analysis

import (
	"fmt"
	"strings"
)

type diagram struct {
	out   strings.Builder
	ids   map[string]string
	marks []string
}

func newDiagram(kind string) *diagram {
	d := &diagram{ids: make(map[string]string)}
	d.out.WriteString(kind + "\n")
	return d
}

// box adds a box, once for each key, and returns its identifier, a number, since file names are not
// valid. "<br/>" in a label breaks the line.
func (d *diagram) box(key, label string) string {
	if id, ok := d.ids[key]; ok {
		return id
	}
	id := fmt.Sprintf("n%d", len(d.ids))
	d.ids[key] = id
	parts := strings.Split(label, "<br/>")
	for i, part := range parts {
		parts[i] = mermaidText(part)
	}
	fmt.Fprintf(&d.out, "    %s[\"%s\"]\n", id, strings.Join(parts, "<br/>"))
	return id
}

// arrow adds an arrow, labelled with a count above 1.
func (d *diagram) arrow(from, to string, count int) {
	if count > 1 {
		fmt.Fprintf(&d.out, "    %s -->|%d| %s\n", from, count, to)
		return
	}
	fmt.Fprintf(&d.out, "    %s --> %s\n", from, to)
}

// leftOut adds a comment on what the diagram does not show.
func (d *diagram) leftOut(n int, what string) {
	if n > 0 {
		fmt.Fprintf(&d.out, "    %%%% %d %s are left out\n", n, what)
	}
}

// String returns the diagram.
func (d *diagram) String() string {
	if len(d.marks) > 0 {
		fmt.Fprintf(&d.out, "    classDef cycle stroke:#c00,stroke-width:3px\n    class %s cycle\n",
			strings.Join(d.marks, ","))
		d.marks = nil
	}
	return d.out.String()
}

// mermaidText escapes a text for a Mermaid diagram in HTML.
func mermaidText(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case r < ' ' || r == 0x7f:
			out.WriteByte(' ')
		case strings.ContainsRune("\"#&<>`\\;%{}[]|", r):
			fmt.Fprintf(&out, "#%d;", r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
