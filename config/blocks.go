package config

import (
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
	"github.com/toolhost/toolhost/internal/toolset"
)

// MaxInstructions bounds the instructions, in characters: clients truncate long ones, and toolhost adds its
// own.
const MaxInstructions = 1000

func (r *reader) instructions(top block) {
	if !top.text("instructions", &r.cfg.Instructions) {
		return
	}
	r.cfg.Instructions = strings.TrimSpace(r.cfg.Instructions)
	if n := utf8.RuneCountInString(r.cfg.Instructions); n > MaxInstructions {
		r.fail(top.where("instructions"), "Instructions too long",
			"Shorten them; what a tool is for belongs into its description.",
			"instructions have %d characters, of which clients take %d.", n, MaxInstructions)
	}
}

func (r *reader) workspace(blocks hcl.Blocks) {
	r.onlyOne(blocks, func(b *hcl.Block) {
		blk := r.open(b, "workspace")
		w := &r.cfg.Workspace
		w.Pos = pos(b.DefRange)
		var root string
		if blk.text("root", &root) {
			w.Root = r.path(root, blk.where("root"))
		}
		w.Allow = blk.paths("allow")
		blk.globs("protect", &w.Protect)
	})
}

func (b block) globs(name string, to *[]string) {
	b.texts(name, to)
	for _, g := range *to {
		if g == "" || !doublestar.ValidatePattern(g) {
			b.fail(b.where(name), "Invalid glob", "Check its brackets and braces.", "%q is not a valid glob.", g)
		}
	}
}

func (r *reader) sandbox(blocks hcl.Blocks) {
	r.onlyOne(blocks, func(b *hcl.Block) {
		blk := r.open(b, "sandbox")
		s := &Sandbox{Level: "auto", Pos: pos(b.DefRange)}
		blk.oneOf("level", &s.Level, "auto", "full", "landlock", "off")
		blk.network(&s.Network, &s.Hosts)
		s.Read, s.Write, s.Mask = blk.paths("read"), blk.paths("write"), blk.paths("mask")
		watch := true
		blk.boolean("watch", &watch)
		s.Unwatched = !watch
		blk.size("memory", &s.Memory)
		r.cfg.Sandbox = s
	})
}

func (r *reader) taskfile(b *hcl.Block) {
	blk := r.open(b, "taskfile")
	const usual = ".agent/Taskfile.yml" // protected without being named
	t := &Taskfile{Path: usual, Access: blk.access(), Pos: pos(b.DefRange)}
	if blk.text("path", &t.Path) && t.Path == "" {
		r.fail(blk.where("path"), "Empty path", "Name the Taskfile, or leave path out.", "path is empty.")
	}
	blk.duration("timeout", &t.Timeout)
	r.cfg.Taskfile = t
	if local := path.Clean(filepath.ToSlash(t.Path)); local != usual && filepath.IsLocal(local) {
		// A tool that can change the commands could run any.
		r.cfg.Workspace.Protect = append(r.cfg.Workspace.Protect, regexlimit.EscapeGlob(local))
	}
}

func (r *reader) limits(b *hcl.Block) {
	blk := r.open(b, "limits")
	l := &r.cfg.Limits
	l.Pos = pos(b.DefRange)
	blk.size("output", &l.Output)
	blk.duration("timeout", &l.Timeout)
	blk.count("processes", &l.Processes)
}

// leastRecord is the minimum size of the record, which is dropped in segments.
const leastRecord = 1 << 20

func (r *reader) record(b *hcl.Block) {
	blk := r.open(b, "record")
	c := &r.cfg.Record
	c.Pos = pos(b.DefRange)
	blk.age("keep", &c.Keep)
	blk.size("size", &c.Size)
	if c.Size != 0 && c.Size < leastRecord {
		r.fail(blk.where("size"), "Size too small", `Write "1MiB" or more.`, "The record needs more than %d bytes.",
			c.Size)
	}
	blk.boolean("required", &c.Required)
	blk.texts("ignore", &c.Ignore)
	if slices.Contains(c.Ignore, "") {
		r.fail(blk.where("ignore"), "Empty pattern", `Write a pattern as in a .gitignore file: "/data/raw/", "*.iso".`,
			"An empty pattern names nothing.")
	}
}

func (r *reader) web(b *hcl.Block) {
	blk := r.open(b, "web")
	w := &r.cfg.Web
	w.Pos = pos(b.DefRange)
	blk.texts("allow", &w.Allow)
	for _, a := range w.Allow {
		if !isHost(a) {
			r.fail(blk.where("allow"), "Invalid address",
				`Write an address, a CIDR or a host name: "127.0.0.1", "10.0.0.0/8", "intranet.example".`,
				"%q is not a valid address.", a)
		}
	}
	blk.duration("timeout", &w.Timeout)
	blk.size("max_size", &w.MaxSize)
	if blk.text("search", &w.Search) {
		r.checkURL(w.Search, blk.where("search"))
	}
}

func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	if _, err := netip.ParsePrefix(s); err == nil {
		return true
	}
	return s != "" && len(s) <= 253 && !strings.ContainsAny(s, ":/@?#\\ \t\r\n*") && !strings.Contains(s, "..")
}

func (r *reader) builtin(b *hcl.Block) {
	switch name := b.Labels[0]; name {
	case "edit_file":
		blk := r.open(b, "builtin")
		blk.oneOf("unescape", &r.cfg.Builtins.Unescape, "contract", "fallback", "never")
	default:
		hint := didYouMean(name, []string{"edit_file"})
		if hint == "" {
			hint = "The builtin with options is edit_file."
		}
		r.fail(b.LabelRanges[0], "Unknown builtin", hint, "There is no builtin %q that has options.", name)
	}
}

// toolset reads a toolset block. Its tools come from sources that are unknown here, so only the block itself is
// checked.
func (r *reader) toolset(b *hcl.Block) {
	r.name("toolset", b.Labels[0], b.LabelRanges[0])
	if ours, ok := toolset.Find(b.Labels[0]); ok {
		r.fail(b.LabelRanges[0], "Name of a shipped toolset", "Choose another name.",
			"%q is shipped with toolhost and is what its contract says.", ours.Name)
	}
	blk := r.open(b, "toolset")
	blk.require("tools")
	t := Toolset{Name: b.Labels[0], Pos: pos(b.DefRange), Resources: blk.offers("resources"),
		Prompts: blk.offers("prompts")}
	blk.boolean("search", &t.Search)
	places := blk.toolNames(&t)
	renames := make(map[string]entry)
	for _, e := range blk.entries("rename") {
		renames[e.key] = e
	}
	listed, offered := make(map[string]hcl.Range), make(map[string]hcl.Range)
	for i, name := range t.Tools {
		as, at := name, places[i]
		if e, ok := renames[name]; ok {
			as, at = e.value, e.at
		}
		twice, isTwice := listed[name]
		first, taken := offered[as]
		listed[name] = places[i]
		switch {
		case isTwice:
			r.fail(places[i], "Tool listed twice", "Remove one of them.", "%q is listed at %s already.", name,
				pos(twice))
		case taken:
			r.fail(at, "Two tools of one name", `Give one another name: rename = { `+name+` = "..." }.`,
				"%q is a tool of this set already, at %s.", as, pos(first))
		}
		offered[as] = at
	}
	blk.renames(&t, renames, listed)
	r.cfg.Toolsets = append(r.cfg.Toolsets, t)
}

func (b block) toolNames(t *Toolset) []hcl.Range {
	if b.texts("tools", &t.Tools) && len(t.Tools) == 0 {
		b.fail(b.where("tools"), "Empty toolset", "Name at least one tool.", "The toolset %q has no tools.", t.Name)
	}
	places := make([]hcl.Range, len(t.Tools))
	var items []hcl.Expression
	if a := b.attrs["tools"]; a != nil {
		items, _ = hcl.ExprList(a.Expr)
	}
	for i, name := range t.Tools {
		places[i] = b.where("tools")
		if len(items) == len(t.Tools) {
			places[i] = items[i].Range()
		}
		b.name("tool", name, places[i])
		t.ToolPos = append(t.ToolPos, pos(places[i]))
	}
	return places
}

func (b block) renames(t *Toolset, renames map[string]entry, listed map[string]hcl.Range) {
	for _, e := range renames {
		if _, ok := listed[e.key]; !ok {
			b.fail(e.at, "Rename of an absent tool", didYouMean(e.key, t.Tools),
				"%q is not among the tools of this set.", e.key)
			continue
		}
		if b.name("tool", e.value, e.at) {
			if t.Rename == nil {
				t.Rename = make(map[string]string)
			}
			t.Rename[e.key] = e.value
		}
	}
}
