package config

import (
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/versions"
)

func words(labels []string) []string {
	var all []string
	for _, label := range labels {
		all = append(all, strings.Fields(label)...)
	}
	return all
}

func (r *reader) plugin(b *hcl.Block) {
	r.name("plugin", b.Labels[0], b.LabelRanges[0])
	blk := r.open(b, "plugin")
	blk.require("source")
	p := Plugin{Name: b.Labels[0], Access: blk.access(), Pos: pos(b.DefRange)}
	if blk.text("source", &p.Source) {
		p.Source = r.pluginSource(p.Source, blk.where("source"))
	}
	blk.version(&p)
	if blk.text("sha256", &p.SHA256) {
		p.SHA256 = strings.ToLower(p.SHA256)
		if len(p.SHA256) != 64 || strings.Trim(p.SHA256, "0123456789abcdef") != "" {
			r.fail(blk.where("sha256"), "Invalid checksum", "Run toolhost plugin lock, or sha256sum on the binary.",
				"A SHA-256 has 64 hexadecimal digits.")
		}
	}
	blk.texts("args", &p.Args)
	blk.environment(&p.Env)
	blk.prefix(&p.Prefix)
	blk.duration("timeout", &p.Timeout)
	blk.duration("start_timeout", &p.StartTimeout)
	blk.idleTimeout(&p.IdleTimeout)
	p.Permissions = blk.permissions("permissions")
	p.Config = PluginConfig{at: b.DefRange, file: r.file}
	configs := 0
	for _, nested := range blk.blocks {
		if configs++; configs > 1 {
			r.fail(nested.DefRange, "Two config blocks", "Put everything into one.", "There is one at %s already.",
				pos(p.Config.at))
			continue
		}
		p.Config = r.pluginConfig(nested.Body, nested.DefRange)
	}
	r.cfg.Plugins = append(r.cfg.Plugins, p)
}

func (b block) version(p *Plugin) {
	if !b.text("version", &p.Version) {
		return
	}
	if _, err := versions.Parse(p.Version); err != nil {
		b.fail(b.where("version"), "Invalid version", `Write a constraint: "1.2.3", "~> 1.2", ">= 1.2, < 2".`, "%s.",
			err)
	}
	if !p.Installed() && p.Source != "" {
		b.fail(b.attrs["version"].NameRange, "Out of place",
			"Remove version, or give the name of an installed plugin as its source.",
			"A plugin that is run from a path has the version that it has.")
	}
}

// Installed reports whether the source is the name of an installed plugin, not a path.
func (p Plugin) Installed() bool {
	return p.Source != "" && !filepath.IsAbs(p.Source) && !strings.ContainsAny(p.Source, `/\`)
}

// pluginSource resolves a source that is a path.
func (r *reader) pluginSource(source string, at hcl.Range) string {
	if source == "" || strings.HasPrefix(source, ".") || strings.HasPrefix(source, "~/") ||
		strings.ContainsAny(source, `/\`) && !strings.Contains(source, "://") {
		return r.path(source, at)
	}
	if strings.Contains(source, "://") {
		r.fail(at, "Not a program", "Run toolhost plugin install "+source+" and write the name that it gives.",
			"A source is a path or the name of an installed plugin.")
	}
	return source
}

// idleTimeout reads a duration, or "never".
func (b block) idleTimeout(to *time.Duration) {
	const name = "idle_timeout"
	a := b.attrs[name]
	if a == nil {
		return
	}
	if s, ok := b.reader.text(a.Expr); !ok {
		return
	} else if s == "never" {
		*to = -1
		return
	}
	b.duration(name, to)
}

func (b block) prefix(to *string) {
	if b.text("prefix", to) && *to != "" {
		b.name("prefix", *to, b.where("prefix"))
	}
}

func (r *reader) server(b *hcl.Block) {
	r.name("server", b.Labels[0], b.LabelRanges[0])
	blk := r.open(b, "mcp")
	s := Server{Name: b.Labels[0], Access: blk.access(), Pos: pos(b.DefRange)}
	switch {
	case blk.has("command") && blk.has("url"):
		r.fail(blk.attrs["url"].NameRange, "Two ways to reach a server", "Keep command or url.",
			"A server is run by its command or reached at its url, not both.")
	case !blk.has("command") && !blk.has("url"):
		r.fail(b.DefRange, "Server without an address", `Add command = ["PROGRAM", ...] or url = "https://...".`,
			"%q says neither how to run it nor where it is.", s.Name)
	}
	if blk.texts("command", &s.Command) && (len(s.Command) == 0 || s.Command[0] == "") {
		r.fail(blk.where("command"), "No program", `Write command = ["PROGRAM", ...].`, "command is empty.")
	} else if len(s.Command) > 0 {
		s.Command[0] = r.pluginSource(s.Command[0], blk.where("command"))
	}
	if blk.text("url", &s.URL) {
		r.checkURL(s.URL, blk.where("url"))
	}
	blk.environment(&s.Env)
	blk.textMap("headers", &s.Headers)
	if blk.has("url") && !blk.has("command") && blk.has("env") {
		r.fail(blk.attrs["env"].NameRange, "Out of place", "Use headers.",
			"env is for a server that is run by a command.")
	}
	if blk.has("headers") && !blk.has("url") {
		r.fail(blk.attrs["headers"].NameRange, "Out of place", "Use env.",
			"headers are for a server that is reached at a url.")
	}
	blk.oauth(&s)
	blk.prefix(&s.Prefix)
	blk.globs("include", &s.Include)
	blk.globs("exclude", &s.Exclude)
	blk.risks(&s.Risk)
	blk.duration("timeout", &s.Timeout)
	blk.duration("start_timeout", &s.StartTimeout)
	blk.protocol(&s.Protocol)
	s.Roots = blk.paths("roots")
	r.cfg.Servers = append(r.cfg.Servers, s)
}

func (b block) protocol(to *string) {
	b.oneOf("protocol", to, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
}

func (r *reader) checkURL(s string, at hcl.Range) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.fail(at, "Invalid URL", `Write "https://HOST/PATH".`, "This is not the URL of a server.")
	}
}

// risks reads the risks of an MCP server's tools, by globs on their names.
func (b block) risks(to *map[string]tool.Risk) {
	for _, e := range b.entries("risk") {
		risk := tool.Risk(e.value)
		switch {
		case e.key == "" || !doublestar.ValidatePattern(e.key):
			b.fail(e.at, "Invalid glob", "Check its brackets and braces.", "%q is not a valid glob.", e.key)
		case !risk.Valid():
			b.fail(e.at, "Invalid risk", "The risks are read_only, safe_write and dangerous.", "%q is not a risk.", e.value)
		default:
			if *to == nil {
				*to = make(map[string]tool.Risk)
			}
			(*to)[e.key] = risk
		}
	}
}
