package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

func (r *reader) resource(b *hcl.Block) {
	r.name("resource", b.Labels[0], b.LabelRanges[0])
	blk := r.open(b, "resource")
	res := argv.Resource{Name: b.Labels[0], Pos: pos(b.DefRange), Access: blk.access()}
	blk.text("title", &res.Title)
	blk.text("description", &res.Description)
	names := blk.resourceURI(&res)
	p := blk.variables(&res, names)
	res.Content = argv.Content{Kind: tool.KindResource, Pos: res.Pos}
	blk.sources(&res.Content, p)
	blk.mediaType(&res.Content)
	blk.boolean("base64", &res.Content.Base64)
	blk.resourceCommand(&res, p)
	res.Risk = blk.risk("risk", tool.ReadOnly)
	res.Permissions = blk.permissions("permissions")
	if blk.boolean("watch", &res.Watch) && res.Watch && (res.Content.File == nil || len(names) > 0) {
		r.fail(blk.where("watch"), "Nothing to watch",
			"Remove watch, or give the resource a file and a URI without variables.",
			"Only a file can be watched for changes.")
	}
	r.cfg.Resources = append(r.cfg.Resources, res)
}

// resourceURI reads the unique URI of a resource and returns its variables.
func (b block) resourceURI(res *argv.Resource) []string {
	b.require("uri")
	if !b.text("uri", &res.URI) {
		return nil
	}
	template, err := argv.ParseURITemplate(res.URI)
	if err != nil {
		b.fail(b.where("uri"), "Invalid URI", `Write a URI such as "note://{id}".`, "%q cannot be used: %s.", res.URI,
			err)
		return nil
	}
	plain := strings.NewReplacer("{+", "", "{", "", "}", "").Replace(res.URI)
	if u, err := url.Parse(plain); err != nil || u.Scheme == "" {
		b.fail(b.where("uri"), "Invalid URI", `Begin it with a scheme: "note://today".`, "%q is not a URI.", res.URI)
	} else if u.Scheme == "toolhost" {
		b.fail(b.where("uri"), "Reserved scheme", `Use another scheme: "note://today".`,
			"toolhost:// is for what toolhost itself offers.")
	}
	b.once("URI", res.URI, b.where("uri"))
	return template.Names()
}

// variables reads the param blocks of a resource, for variables of its URI.
func (b block) variables(res *argv.Resource, names []string) *params {
	p := &params{byName: make(map[string]int), used: make(map[string]bool), declare: "Put it into the uri, as {NAME}."}
	for _, name := range names {
		p.byName[name] = len(p.list)
		p.list, p.at = append(p.list, argv.Param{Name: name, Type: argv.TypeString}), append(p.at, b.at)
	}
	for _, nested := range b.blocks {
		if nested.Type != "param" {
			continue
		}
		name := nested.Labels[0]
		param := p.find(name)
		if param == nil {
			hint := didYouMean(name, names)
			if hint == "" {
				hint = "Write {" + name + "} into the URI, or remove the block."
			}
			b.fail(nested.LabelRanges[0], "No variable of the URI", hint, "The URI has no variable %q.", name)
			continue
		}
		blk := b.open(nested, "param of a resource")
		blk.textParam(param)
		blk.suggestions(name, names, &res.Complete)
	}
	res.Params = p.list
	return p
}

func (b block) textParam(p *argv.Param) {
	p.Type, p.Pos = argv.TypeString, pos(b.at)
	b.text("description", &p.Description)
	b.texts("enum", &p.Enum)
	b.pattern("pattern", &p.Pattern)
	p.Min, p.Max = b.bound("min"), b.bound("max")
	p.Path = b.kind("path", argv.Read, argv.Write, argv.Remove)
	b.consistent(p)
}

// suggestions reads an argument's suggested values: a list, or lists by the values of another argument, one of
// names.
func (b block) suggestions(name string, names []string, to *map[string]argv.Suggestions) {
	a := b.attrs["complete"]
	if a == nil {
		return
	}
	if *to == nil {
		*to = make(map[string]argv.Suggestions)
	}
	pairs, diags := hcl.ExprMap(a.Expr)
	if diags.HasErrors() {
		var made argv.Suggestions
		b.texts("complete", &made.Values)
		(*to)[name] = made
		return
	}
	made := argv.Suggestions{By: make(map[string]map[string][]string)}
	for _, pair := range pairs {
		other, ok := b.key(pair.Key)
		if ok && (other == name || !slices.Contains(names, other)) {
			others := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
			b.fail(pair.Key.Range(), "Unknown argument", didYouMean(other, others),
				"complete chooses suggestions by the values of another argument, and %q is not one.", other)
			continue
		}
		made.By[other] = b.listsBy(pair.Value)
	}
	(*to)[name] = made
}

func (r *reader) listsBy(e hcl.Expression) map[string][]string {
	pairs, diags := hcl.ExprMap(e)
	if diags.HasErrors() {
		r.fail(e.Range(), "Wrong type", `Write { VALUE = ["..."] }.`,
			"The lists of suggestions by a value are needed here.")
		return nil
	}
	lists, seen := make(map[string][]string), make(keys, len(pairs))
	for _, pair := range pairs {
		key, ok := r.key(pair.Key)
		list, listOK := r.list(pair.Value)
		if ok && listOK && r.fresh(seen, key, pair.Key.Range()) {
			lists[key] = list
		}
	}
	return lists
}

// resourceCommand reads the command block of a resource, or requires content.
func (b block) resourceCommand(res *argv.Resource, p *params) {
	i := slices.IndexFunc(b.blocks, func(nested *hcl.Block) bool { return nested.Type == "command" })
	content := !res.Content.Printed()
	switch {
	case i < 0 && !content:
		b.fail(b.at, "Resource without content",
			"Add text, file or data, or a command block that prints it.", "%q says nothing about what it holds.",
			res.Name)
	case i >= 0 && content:
		b.fail(b.blocks[i].DefRange, "Two contents", "Keep the command or the attribute.",
			"The resource has text, file or data already.")
	case i < 0 && b.has("base64"):
		b.fail(b.attrs["base64"].NameRange, "Out of place", "Use data.", "base64 is about what a command prints.")
	}
	if i >= 0 {
		res.Command = b.command(b.blocks[i], p)
	}
}

func (r *reader) prompt(b *hcl.Block) {
	r.name("prompt", b.Labels[0], b.LabelRanges[0])
	blk := r.open(b, "prompt")
	made := argv.Prompt{Name: b.Labels[0], Pos: pos(b.DefRange)}
	blk.text("title", &made.Title)
	blk.text("description", &made.Description)
	p := blk.arguments(&made)
	p.asks = blk.asks(p)
	made.Asks = p.asks
	for _, nested := range blk.blocks {
		if nested.Type == "message" {
			made.Messages = append(made.Messages, r.message(nested, p))
		}
	}
	if len(made.Messages) == 0 {
		r.fail(b.DefRange, "Prompt without messages", `Add message { text = "..." }.`, "%q says nothing.",
			made.Name)
	}
	for i, name := range p.names() {
		if !p.used[name] && !p.misspelt {
			r.warn(p.at[i], "Unused argument", "Use it as param."+name+", or remove it.",
				"The prompt makes no use of %q.", name)
		}
	}
	r.cfg.Prompts = append(r.cfg.Prompts, made)
}

// labels returns the first labels of the blocks of a type.
func (b block) labels(kind string) (all []string) {
	for _, nested := range b.blocks {
		if nested.Type == kind {
			all = append(all, nested.Labels[0])
		}
	}
	return all
}

func (b block) arguments(made *argv.Prompt) *params {
	p := &params{byName: make(map[string]int), used: make(map[string]bool),
		declare: "Declare it with an argument block."}
	for _, nested := range b.blocks {
		if nested.Type != "argument" {
			continue
		}
		name := nested.Labels[0]
		b.name("argument", name, nested.LabelRanges[0])
		if i, taken := p.byName[name]; taken {
			b.fail(nested.LabelRanges[0], "Two arguments of one name", "Rename or remove one of them.",
				"%q stands at %s already.", name, pos(p.at[i]))
			continue
		}
		blk := b.open(nested, "argument")
		a := argv.Argument{Param: argv.Param{Name: name, Type: argv.TypeString}}
		blk.text("title", &a.Title)
		a.Default = blk.json("default")
		blk.textParam(&a.Param)
		required := a.Default == nil
		if blk.boolean("required", &required); !required && a.Default == nil {
			a.Default = []byte("null")
		} else if required && a.Default != nil {
			b.fail(blk.where("required"), "Required with a default", "Remove required or default.",
				"An argument with a default may be missing.")
		}
		blk.suggestions(name, b.labels("argument"), &made.Complete)
		p.byName[name] = len(p.list)
		p.list, p.at = append(p.list, a.Param), append(p.at, nested.DefRange)
		made.Arguments = append(made.Arguments, a)
	}
	return p
}

func (r *reader) message(b *hcl.Block, p *params) argv.Message {
	blk := r.open(b, "message")
	m := argv.Message{Role: "user"}
	blk.oneOf("role", &m.Role, "user", "assistant")
	m.Content = blk.part(p, "text", "image", "audio", "resource")
	if m.Printed() {
		r.fail(b.DefRange, "Message without content", `Add text = "...", or file or data.`,
			"The message says nothing.")
	}
	return m
}

// offers reads the names of a toolset's resources or prompts.
func (b block) offers(name string) []string {
	known := []string{}
	if name == "resources" {
		for i := range b.cfg.Resources {
			known = append(known, b.cfg.Resources[i].Name)
		}
	} else {
		for i := range b.cfg.Prompts {
			known = append(known, b.cfg.Prompts[i].Name)
		}
	}
	chosen := []string{}
	b.texts(name, &chosen)
	for _, c := range chosen {
		if !slices.Contains(known, c) {
			b.fail(b.where(name), "Unknown name", didYouMean(c, known), "%q is none of the %s of this file.", c, name)
		}
	}
	return chosen
}
