package patch

import (
	"cmp"
	"strings"
)

func (p *parser) gitSection() (*File, error) {
	if strings.HasSuffix(p.line(0), "\r\n") {
		p.stripCR()
	}
	f := &File{Line: p.number(), Kind: Modify, git: true}
	old, new, ok := gitNames(p.line(0)[len("diff --git "):])
	if ok {
		f.OldName, f.NewName = old, new
	}
	p.at++
	for p.extended(f) {
		p.at++
	}
	switch {
	case isBinary(p.line(0)):
		return nil, binary(p.number())
	case p.atHeader():
		return f, p.textSection(f)
	case f.OldName == "" && f.NewName == "":
		return nil, malformed(f.Line, "cannot tell the file names in the diff --git line")
	case f.empty():
		return nil, malformed(f.Line, "nothing follows the header of %s", f.NewName)
	}
	switch f.Kind {
	case Create:
		f.OldName, f.NewName = "", cmp.Or(f.NewName, f.OldName)
	case Delete:
		f.OldName, f.NewName = cmp.Or(f.OldName, f.NewName), ""
	}
	return f, nil
}

func (f *File) empty() bool {
	return f.Kind == Modify && f.Executable == nil && len(f.Hunks) == 0
}

func (p *parser) extended(f *File) bool {
	key, value, ok := extendedHeader(strings.TrimRight(p.line(0), "\r\n"))
	if !ok {
		return false
	}
	switch key {
	case "new file mode", "deleted file mode", "new mode":
		f.setMode(key, value)
	case "rename from", "copy from", "rename old":
		f.OldName, f.Kind = plainName(value), Rename
		if key == "copy from" {
			f.Kind = Copy
		}
	case "rename to", "copy to", "rename new":
		f.NewName = plainName(value)
	}
	return true
}

func extendedHeader(line string) (key, value string, ok bool) {
	for _, key := range []string{
		"old mode", "new mode", "deleted file mode", "new file mode", "copy from", "copy to", "rename from",
		"rename to",
		"rename old", "rename new", "similarity index", "dissimilarity index", "index",
	} {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			return key, value, true
		}
	}
	return "", "", false
}

func plainName(value string) string {
	if name, ok := plainOrQuoted(value); ok {
		return name
	}
	return value
}

func (f *File) setMode(key, value string) {
	value = strings.TrimSpace(value)
	if key != "deleted file mode" {
		executable := strings.HasSuffix(value, "755")
		f.Executable = &executable
	}
	switch key {
	case "new file mode":
		f.Kind = Create
	case "deleted file mode":
		f.Kind = Delete
	}
	f.special = f.special || strings.HasPrefix(value, "12") || strings.HasPrefix(value, "16")
}
