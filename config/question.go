package config

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host/argv"
)

func (b block) asks(p *params) []argv.Ask {
	var asks []argv.Ask
	seen := make(map[string]hcl.Range)
	for _, nested := range b.blocks {
		if nested.Type != "ask" {
			continue
		}
		key := nested.Labels[0]
		b.name("question", key, nested.LabelRanges[0])
		if first, taken := seen[key]; taken {
			b.fail(nested.LabelRanges[0], "Two questions of one name", "Rename or remove one of them.",
				"%q stands at %s already.", key, pos(first))
			continue
		}
		seen[key] = nested.DefRange
		asks = append(asks, b.ask(nested, p))
	}
	return asks
}

// ask reads an ask block: a form for the user, a question to a model, or one for the client's roots.
func (b block) ask(nested *hcl.Block, p *params) argv.Ask {
	blk := b.open(nested, "ask")
	a := argv.Ask{Key: nested.Labels[0], Pos: pos(nested.DefRange)}
	blk.boolean("optional", &a.Optional)
	blk.boolean("roots", &a.Roots)
	if message := blk.expression("message", p); message != nil {
		a.Message = *message
	}
	for _, inner := range blk.blocks {
		if inner.Type == "model" {
			a.Model = blk.askModel(inner, p)
		} else {
			a.Fields = append(a.Fields, blk.field(inner, a.Fields))
		}
	}
	a.Form = blk.form()
	kinds := 0
	for _, is := range []bool{len(a.Fields) > 0, blk.has("form"), a.Model != nil, a.Roots} {
		if is {
			kinds++
		}
	}
	if kinds > 1 {
		b.fail(nested.DefRange, "Two kinds of question", "Make two ask blocks of it.",
			"A question has fields or a form for the user, or a model block, or roots = true.")
	}
	if a.Model == nil && !a.Roots && !blk.has("message") {
		b.fail(nested.DefRange, "Missing attribute", `Add message = "...".`, "The user has to read what is asked.")
	}
	return a
}

func (b block) askModel(nested *hcl.Block, p *params) *argv.AskModel {
	blk := b.open(nested, "model of an ask")
	blk.require("prompt")
	m := new(argv.AskModel)
	if prompt := blk.expression("prompt", p); prompt != nil {
		m.Prompt = *prompt
	}
	if system := blk.expression("system", p); system != nil {
		m.System = *system
	}
	blk.count("max_tokens", &m.MaxTokens)
	return m
}

func (b block) field(nested *hcl.Block, before []argv.Field) argv.Field {
	name := nested.Labels[0]
	b.name("field", name, nested.LabelRanges[0])
	for i := range before {
		if before[i].Name == name {
			b.fail(nested.LabelRanges[0], "Two fields of one name", "Rename or remove one of them.",
				"%q stands at %s already.", name, before[i].Pos)
		}
	}
	blk := b.open(nested, "field")
	f := argv.Field{Param: argv.Param{Name: name, Pos: pos(nested.DefRange)}}
	f.Type, f.Item = blk.paramType()
	blk.text("title", &f.Title)
	blk.text("description", &f.Description)
	blk.texts("enum", &f.Enum)
	blk.texts("titles", &f.Titles)
	f.Min, f.Max = blk.bound("min"), blk.bound("max")
	blk.oneOf("format", &f.Format, "email", "uri", "date", "date-time")
	f.Default = blk.json("default")
	f.Required = f.Default == nil
	blk.boolean("required", &f.Required)
	blk.consistent(&f.Param)
	blk.checkField(&f)
	b.noSecret(nested.LabelRanges[0], name, f.Title)
	return f
}

func (b block) checkField(f *argv.Field) {
	if len(f.Titles) > 0 && len(f.Titles) != len(f.Enum) {
		b.fail(b.where("titles"), "Titles do not match", "Write one title for each value of enum.",
			"There are %d titles and %d values.", len(f.Titles), len(f.Enum))
		f.Titles = nil
	}
	if f.Type == argv.TypeList && len(f.Enum) == 0 {
		b.fail(b.at, "List without choices", "Add enum = [...], or make the type string.",
			"A form can only offer a list to choose from.")
	}
	if f.Format != "" && f.Type != argv.TypeString {
		b.fail(b.where("format"), "Out of place", "Remove it, or make the type string.", "format is for text.")
	}
}

// form reads a form written as a schema.
func (b block) form() json.RawMessage {
	raw := b.objectSchema("form")
	if raw == nil {
		return nil
	}
	var flat struct {
		Properties map[string]struct {
			Type  string `json:"type"`
			Title string `json:"title"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(raw, &flat); err != nil {
		b.fail(b.where("form"), "Not a form", "Give every property a type.", "The properties of a form are simple: %s.",
			err)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(flat.Properties)) {
		property := flat.Properties[name]
		if !slices.Contains([]string{"string", "integer", "number", "boolean", "array"}, property.Type) {
			b.fail(b.where("form"), "Not a form", "Ask for text, numbers, booleans or a choice.",
				"%q is of type %q, which no form can ask for.", name, property.Type)
		}
		b.noSecret(b.where("form"), name, property.Title)
	}
	return raw
}

// noSecret refuses to ask for secrets: the client may keep what is typed into a form.
func (b block) noSecret(at hcl.Range, name, title string) {
	words := regexp.MustCompile(`(?i)passw(or)?d|passphrase|pass[_ -]?code|secret|token|credential|(api|access|private|ssh)[_ -]?key`)
	for _, text := range []string{name, title} {
		if word := strings.ToLower(words.FindString(text)); word != "" {
			b.fail(at, "Question for a secret", `Take it from the environment: env = { NAME = env("NAME") }.`,
				"%q looks like a secret (%s), and a form must not ask for one.", name, word)
			return
		}
	}
}

func (c compiler) answerName(e *hclsyntax.ScopeTraversalExpr) (string, bool) {
	key, ok := second(e.Traversal)
	i := slices.IndexFunc(c.params.asks, func(a argv.Ask) bool { return a.Key == key })
	if !ok || i < 0 {
		keys := make([]string, len(c.params.asks))
		for i := range c.params.asks {
			keys[i] = c.params.asks[i].Key
		}
		hint := didYouMean(key, keys)
		if hint == "" {
			hint = "Declare it with an ask block, and write ask.NAME.FIELD."
		}
		c.fail(e.Range(), "Unknown question", hint, "There is no question %q.", key)
		return "", false
	}
	parts := c.params.asks[i].Names()
	attr, ok := hcl.TraverseAttr{}, false
	if len(e.Traversal) == 3 {
		attr, ok = e.Traversal[2].(hcl.TraverseAttr)
	}
	if !ok || !slices.Contains(parts, attr.Name) {
		hint := didYouMean(attr.Name, parts)
		if hint == "" {
			hint = "Write ask." + key + ".FIELD; it has " + strings.Join(parts, ", ") + "."
		}
		c.fail(e.Range(), "Unknown field", hint, "The answer to %q has no field %q.", key, attr.Name)
		return "", false
	}
	return argv.Ref(key, attr.Name), true
}
