// Package packs has ready-made blocks of agent.hcl for common programs. A pack is a file of HCL: a block `pack`
// with its purpose and how it recognizes its projects, and below it the text that `toolhost add` and `toolhost
// init` write, which then belongs to the user.
//
// In the text, pack.NAME stands for what is found in a project: pack.file (the recognized file), pack.names and
// pack.name (its commands, and the one to try), pack.hosts and pack.env (hosts in the user's settings, and
// variables with URLs in them), and the words of pick blocks.
package packs

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

//go:embed *.hcl
var files embed.FS

// frame is the agent.hcl that is written for a project; what is in it goes to mark.
//
//go:embed agent.txt
var frame string

const mark = "# PROJECT\n\n"

const (
	maxNames = 40
	maxFile  = 1 << 20
)

// Pack is a pack.
type Pack struct {
	Name        string
	Description string
	// Needs are the programs that its tools run.
	Needs []string
	// Tools are the names of the tools that it declares.
	Tools []string
	// Init orders what `toolhost init` writes; it only names a pack with 0.
	Init int
	// Try is a command line to begin with, First one to run once before it.
	Try, First string
	// Settings name the hosts that its tools reach.
	Settings []Setting

	// detect are globs; the first file that one matches is the pack's.
	detect []string
	// contains must match in that file.
	contains *regexp.Regexp
	// unless are files of projects that the pack is not for; one of the files beside is required.
	unless, beside []string
	// names and keys find commands in the file: a regular expression for a line, after the line section, or the
	// keys of a JSON object.
	names   *regexp.Regexp
	section string
	keys    string
	// skip are names that are left out.
	skip *regexp.Regexp
	// note is the text if no host is known.
	note  string
	hosts []string
	picks []pick
	text  string
}

// Setting is where a program's settings name hosts: a command's output, or a file, in the user's home if it
// begins with ~/, else in the project.
type Setting struct {
	Command []string
	File    string
	// Variables tell the program in the sandbox, which hides the settings, what the pattern finds: URLs.
	Variables []string
	// unless are files of the project that may name a registry, which a variable would override.
	unless  []string
	pattern *regexp.Regexp
	port    string // of hosts named without a port
}

// pick is a choice of words: those of the first whose file exists.
type pick struct {
	name, file string
	words      []string
}

// Match is what a project has of a pack.
type Match struct {
	File  string
	Names []string
}

// All returns the packs by name.
func All() []*Pack {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err)
	}
	all := make([]*Pack, 0, len(entries))
	for _, e := range entries {
		data, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		p, err := parse(strings.TrimSuffix(e.Name(), ".hcl"), data)
		if err != nil {
			panic(err) // a test reads them all
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Pack) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func parse(name string, data []byte) (*Pack, error) {
	file, diags := hclsyntax.ParseConfig(data, name+".hcl", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	body := file.Body.(*hclsyntax.Body)
	if len(body.Blocks) == 0 || body.Blocks[0].Type != "pack" {
		return nil, fmt.Errorf("%s.hcl does not begin with a block pack", name)
	}
	head := body.Blocks[0]
	p := &Pack{Name: name, text: strings.TrimSpace(string(data[head.CloseBraceRange.End.Byte:])) + "\n"}
	for _, b := range body.Blocks[1:] {
		if b.Type == "tool" {
			p.Tools = append(p.Tools, b.Labels[0])
		}
	}
	return p, p.read(head.Body)
}

func (p *Pack) read(body *hclsyntax.Body) error {
	r := values{body.Attributes, nil}
	p.Description, p.Needs = r.text("description"), r.texts("needs")
	p.Try, p.First, p.note = r.text("try"), r.text("first"), r.text("note")
	p.detect, p.unless, p.beside = r.texts("detect"), r.texts("unless"), r.texts("beside")
	p.hosts = r.texts("hosts")
	p.keys, p.section = r.text("keys"), r.text("section")
	p.contains, p.names, p.skip = r.pattern("contains"), r.pattern("names"), r.pattern("skip")
	if v, ok := r.value("init"); ok {
		order, _ := v.AsBigFloat().Int64()
		p.Init = int(order)
	}
	errs := []error{r.unread(p.Name)}
	for _, b := range body.Blocks {
		inner := values{b.Body.Attributes, nil}
		switch {
		case b.Type == "setting":
			s := Setting{Command: inner.texts("command"), File: inner.text("file"), Variables: inner.texts("variables"),
				unless: inner.texts("unless"), pattern: inner.pattern("pattern"), port: inner.text("port")}
			if s.pattern == nil {
				s.pattern = urls()
			}
			p.Settings = append(p.Settings, s)
		case b.Type == "pick" && len(b.Labels) == 1:
			p.picks = append(p.picks, pick{b.Labels[0], inner.text("file"), inner.texts("words")})
		default:
			errs = append(errs, fmt.Errorf("%s.hcl: unknown block %s", p.Name, b.Type))
		}
		errs = append(errs, inner.unread(p.Name))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// values are the attributes of a block; bad is a mistake in them.
type values struct {
	attrs hclsyntax.Attributes
	bad   error
}

// value returns an attribute's value and marks it as read.
func (v *values) value(name string) (cty.Value, bool) {
	a, ok := v.attrs[name]
	if !ok {
		return cty.NilVal, false
	}
	got, diags := a.Expr.Value(nil)
	if diags.HasErrors() {
		v.bad = diags
		return cty.NilVal, false
	}
	v.attrs = maps.Clone(v.attrs)
	delete(v.attrs, name)
	return got, true
}

func (v *values) text(name string) string {
	if got, ok := v.value(name); ok && got.Type() == cty.String {
		return got.AsString()
	}
	return ""
}

func (v *values) texts(name string) (all []string) {
	if got, ok := v.value(name); ok && got.CanIterateElements() {
		for _, e := range got.AsValueSlice() {
			all = append(all, e.AsString())
		}
	}
	return all
}

func (v *values) pattern(name string) *regexp.Regexp {
	text := v.text(name)
	if text == "" {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		v.bad = err
	}
	return re
}

// unread returns an error for attributes that were not read.
func (v *values) unread(pack string) error {
	if v.bad != nil {
		return fmt.Errorf("%s.hcl: %w", pack, v.bad)
	}
	for name := range v.attrs {
		return fmt.Errorf("%s.hcl: unknown attribute %s", pack, name)
	}
	return nil
}

// Found is a pack that fits a project.
type Found struct {
	*Pack
	Match
}

// Detect looks at the top directory of a project. It returns the packs for its agent.hcl, in order, and others
// that fit. It runs nothing.
func Detect(dir fs.FS) (written, others []Found) {
	var declared []string
	all := All()
	slices.SortStableFunc(all, func(a, b *Pack) int { return cmp.Compare(a.Init, b.Init) })
	for _, p := range all {
		m, ok := p.In(dir)
		if !ok || slices.ContainsFunc(p.Tools, func(name string) bool { return slices.Contains(declared, name) }) {
			continue
		}
		if p.Init == 0 {
			others = append(others, Found{p, m})
			continue
		}
		declared = append(declared, p.Tools...)
		written = append(written, Found{p, m})
	}
	return written, others
}

// File returns an agent.hcl with the texts of packs in it.
func File(texts []string) []byte {
	inner := ""
	for _, text := range texts {
		inner += text + "\n"
	}
	return []byte(strings.Replace(frame, mark, inner, 1))
}

// In returns what of the pack a project has, and false if the pack is not for it. It runs nothing. Unreadable
// files count as missing.
func (p *Pack) In(dir fs.FS) (Match, bool) {
	var m Match
	isThere := func(name string) bool { return there(dir, name) }
	if slices.ContainsFunc(p.unless, isThere) || len(p.beside) > 0 && !slices.ContainsFunc(p.beside, isThere) {
		return m, false
	}
	if m.File = p.file(dir); m.File == "" {
		return m, false
	}
	if p.names == nil && p.keys == "" && p.contains == nil {
		return m, true
	}
	data, err := fs.ReadFile(dir, m.File)
	if err != nil || len(data) > maxFile || p.contains != nil && !p.contains.Match(data) {
		return m, false
	}
	if p.names != nil {
		m.Names = p.inLines(string(data))
	} else if p.keys != "" {
		m.Names = p.inJSON(data)
	}
	return m, p.names == nil && p.keys == "" || len(m.Names) > 0
}

// Unfit returns why the pack's text cannot be written for a project, "" if it can.
func (p *Pack) Unfit(dir fs.FS) string {
	if _, found := p.In(dir); found || !strings.Contains(p.text, "pack.file") && !strings.Contains(p.text, "pack.name") {
		return ""
	}
	isThere := func(name string) bool { return there(dir, name) }
	if i := slices.IndexFunc(p.unless, isThere); i >= 0 {
		return "it has " + p.unless[i]
	}
	if len(p.beside) > 0 && !slices.ContainsFunc(p.beside, isThere) {
		return "it has no " + strings.Join(p.beside, " or ")
	}
	if file := p.file(dir); file != "" {
		return file + " has no commands"
	}
	return "it has no " + strings.Join(p.detect[:min(len(p.detect), 3)], " or ")
}

// Reaches reports whether a tool of the pack reaches hosts that settings name.
func (p *Pack) Reaches() bool { return strings.Contains(p.text, "pack.hosts") && len(p.hosts) == 0 }

// file returns the first file that the pack is recognized by.
func (p *Pack) file(dir fs.FS) string {
	for _, glob := range p.detect {
		found, _ := fs.Glob(dir, glob)
		for _, name := range found {
			if there(dir, name) {
				return name
			}
		}
	}
	return ""
}

func there(dir fs.FS, name string) bool {
	_, err := fs.Stat(dir, name)
	return err == nil
}

func (p *Pack) inLines(text string) (found []string) {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "[") {
			section = line
		}
		groups := p.names.FindStringSubmatch(line)
		if groups == nil || p.section != "" && groups[1] == "" && section != p.section {
			continue
		}
		found = p.adding(found, strings.Join(groups[1:], ""))
	}
	return found
}

func (p *Pack) inJSON(data []byte) (found []string) {
	var whole map[string]json.RawMessage
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &whole) != nil || json.Unmarshal(whole[p.keys], &keys) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		found = p.adding(found, name)
	}
	return found
}

func (p *Pack) adding(found []string, name string) []string {
	if slices.Contains(found, name) || len(found) == maxNames || p.skip != nil && p.skip.MatchString(name) {
		return found
	}
	return append(found, name)
}

// Render returns the text for a project. hosts are known hosts besides the pack's own, env the variables for
// pack.env.
func (p *Pack) Render(dir fs.FS, m Match, hosts []string, env map[string]string) string {
	text := p.withHosts(slices.Concat(p.hosts, hosts))
	if len(env) == 0 {
		text = envLine().ReplaceAllString(text, "")
	}
	text = placeholder().ReplaceAllStringFunc(text, func(word string) string {
		if word == "pack.env" {
			return quotedObject(env)
		}
		if value, ok := p.value(dir, m, strings.TrimPrefix(word, "pack.")); ok {
			return value
		}
		return word
	})
	return string(hclwrite.Format([]byte(text)))
}

// Lines returns Try and First for a project.
func (p *Pack) Lines(m Match) (try, first string) {
	return strings.ReplaceAll(p.Try, "NAME", m.name()), p.First
}

// name returns the command to try.
func (m Match) name() string {
	switch {
	case slices.Contains(m.Names, "test"):
		return "test"
	case len(m.Names) > 0:
		return m.Names[0]
	}
	return ""
}

// value returns what a placeholder stands for.
func (p *Pack) value(dir fs.FS, m Match, name string) (string, bool) {
	switch name {
	case "file":
		return quoted(m.File), true
	case "names":
		return quotedList(m.Names), true
	case "name":
		return quoted(m.name()), true
	}
	for _, c := range p.picks {
		if c.name == name && (c.file == "" || there(dir, c.file)) {
			list := quotedList(c.words)
			return list[1 : len(list)-1], true
		}
	}
	return "", false
}

// withHosts inserts the hosts, or the note if none is known.
func (p *Pack) withHosts(hosts []string) string {
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	return hostLine().ReplaceAllStringFunc(p.text, func(line string) string {
		if len(hosts) > 0 {
			return strings.ReplaceAll(line, "pack.hosts", quotedList(hosts))
		}
		return strings.Replace(strings.ReplaceAll(line, "pack.hosts", `["HOST"]`), "network", "# network", 1) +
			" # " + p.note
	})
}

// Hosts returns the hosts in a setting's text, as written in agent.hcl.
func (s Setting) Hosts(text string) (hosts []string) {
	pattern := s.pattern
	if len(s.Variables) > 0 {
		text, pattern = strings.Join(s.urls(text), " "), urls()
	}
	for _, groups := range pattern.FindAllStringSubmatch(text, -1) {
		scheme, host := "", groups[1]
		if len(groups) > 2 {
			scheme, host = groups[1], groups[2]
		}
		host = strings.ToLower(host[strings.LastIndexByte(host, '@')+1:])
		name, port, has := strings.Cut(host, ":")
		if name == "127.0.0.1" {
			name = "localhost"
		}
		if scheme == "ssh" && !has {
			port, has = "22", true
		}
		if s.port != "" && !has {
			port, has = s.port, true
		}
		if name == "localhost" && !has {
			port, has = map[bool]string{true: "80", false: "443"}[scheme == "http"], true
		}
		if has {
			name += ":" + port
		}
		hosts = append(hosts, name)
	}
	return hosts
}

// Value returns the value of the setting's variables, "" if there is no URL of http or https or the project
// names its own registry. It is withheld if a URL may have credentials.
func (s Setting) Value(project fs.FS, text string) (value string, withheld bool) {
	for _, name := range s.unless {
		data, _ := fs.ReadFile(project, name)
		if registryLine().Match(data) {
			return "", false
		}
	}
	found := s.urls(text)
	for _, one := range found {
		u, err := url.Parse(one)
		if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
			return "", false
		}
		if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return "", true
		}
	}
	return strings.Join(found, " "), false
}

// urls returns what the pattern of a setting with variables finds. pip writes a list's line breaks as \n.
func (s Setting) urls(text string) []string {
	groups := s.pattern.FindStringSubmatch(text)
	if len(s.Variables) == 0 || groups == nil {
		return nil
	}
	return strings.Fields(strings.ReplaceAll(strings.Join(groups[1:], ""), `\n`, " "))
}

func urls() *regexp.Regexp {
	return regexp.MustCompile(`(https?|ssh)://([A-Za-z0-9][^/\s"'>),|]*)`)
}

func placeholder() *regexp.Regexp { return regexp.MustCompile(`\bpack\.[a-z]+`) }

func hostLine() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*network\s*=.*pack\.hosts.*$`) }

func envLine() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*env\s*=\s*pack\.env\n`) }

func registryLine() *regexp.Regexp { return regexp.MustCompile(`(?im)^\s*(npm)?registr`) }

func quoted(text string) string { return tokens(cty.StringVal(text)) }

func quotedList(texts []string) string {
	values := make([]cty.Value, len(texts))
	for i, text := range texts {
		values[i] = cty.StringVal(text)
	}
	return tokens(cty.TupleVal(values))
}

func quotedObject(values map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, name+" = "+quoted(values[name]))
	}
	return "{ " + strings.Join(pairs, ", ") + " }"
}

func tokens(v cty.Value) string { return string(hclwrite.TokensForValue(v).Bytes()) }
