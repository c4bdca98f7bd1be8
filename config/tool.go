package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

func (r *reader) tool(b *hcl.Block) {
	r.name("tool", b.Labels[0], b.LabelRanges[0])
	blk := r.open(b, "tool")
	spec := argv.Spec{Name: b.Labels[0], Pos: pos(b.DefRange)}
	blk.text("title", &spec.Title)
	blk.text("description", &spec.Description)
	if spec.Description == "" {
		r.warn(b.DefRange, "Tool without a description", "Say what it does and what it returns.",
			"A model chooses among tools by their descriptions, and %q has none.", spec.Name)
	}
	spec.Risk = blk.risk("risk", tool.Dangerous)
	spec.Permissions = blk.permissions("permissions")
	spec.Access = blk.access()
	var task string
	blk.oneOf("task", &task, "optional", "required")
	spec.AsTask = task == "required"
	blk.body(&spec)
	for _, e := range blk.blocks {
		switch e.Type {
		case "example":
			spec.Examples = append(spec.Examples, r.example(e, &spec))
		case "reject":
			spec.Rejects = append(spec.Rejects, r.example(e, &spec))
		}
	}
	r.cfg.Tools = append(r.cfg.Tools, spec)
}

// body reads a tool's params, and its passthrough or command.
func (b block) body(spec *argv.Spec) {
	params := b.toolParams(spec)
	params.asks = b.asks(params)
	spec.Asks = params.asks
	b.outputs(spec, params)
	var first *hcl.Block
	for _, nested := range b.blocks {
		if nested.Type != "passthrough" && nested.Type != "command" {
			continue
		}
		if first != nil {
			b.fail(nested.DefRange, "Two ways to run", "Keep the passthrough or the command.",
				"A tool has one passthrough or one command; there is one at %s already.", pos(first.DefRange))
			continue
		}
		first = nested
		if nested.Type == "command" {
			spec.Command = b.command(nested, params)
			b.unused(params)
			continue
		}
		spec.Passthrough = b.passthrough(nested)
		if len(spec.Asks) > 0 {
			b.fail(b.at, "Question before a passthrough", "Use a command block, which can make use of the answer.",
				"A passthrough takes its arguments only from the agent.")
		}
		if len(params.list) > 0 {
			b.fail(params.at[0], "Parameter of a passthrough", "Use a command block for typed parameters.",
				"A passthrough has one parameter, args, and no others.")
		}
	}
	if first == nil {
		b.fail(b.at, "Tool without a command", "Add a passthrough block or a command block.",
			"%q says nothing about what to run.", spec.Name)
	}
}

func (b block) risk(name string, fallback tool.Risk) tool.Risk {
	s := string(fallback)
	b.oneOf(name, &s, risks()...)
	return tool.Risk(s)
}

func risks() []string {
	return []string{string(tool.ReadOnly), string(tool.SafeWrite), string(tool.Dangerous)}
}

// permissions reads a list of permissions. Tools may name their own: an unknown one is refused only if it
// resembles a known one.
func (b block) permissions(name string) []tool.Permission {
	var list []string
	if !b.texts(name, &list) {
		return nil
	}
	permissions := make([]tool.Permission, 0, len(list))
	for _, p := range list {
		b.checkPermission(p, b.where(name))
		permissions = append(permissions, tool.Permission(p))
	}
	return permissions
}

func (r *reader) checkPermission(p string, at hcl.Range) {
	known := []string{
		string(tool.FileRead), string(tool.FileWrite), string(tool.ShellExec),
		string(tool.Network), string(tool.EnvRead), string(tool.EnvWrite),
	}
	if near := nearest.Typo(p, known); near != "" && !slices.Contains(known, p) {
		r.fail(at, "Unknown permission", didYouMean(p, known), "There is no permission %q.", p)
	} else if !slices.Contains(known, p) {
		r.name("permission", p, at)
	}
}

func (r *reader) example(b *hcl.Block, spec *argv.Spec) argv.Example {
	blk := r.open(b, b.Type)
	e := argv.Example{Pos: pos(b.DefRange)}
	r.cfg.places[e.Pos] = b.DefRange
	blk.text("description", &e.Description)
	blk.text("args", &e.Args)
	e.Params = blk.json("params")
	switch {
	case spec.Passthrough != nil && blk.has("params"):
		r.fail(blk.where("params"), "Parameters for a passthrough", `Write args = "...".`,
			"A passthrough is called with args.")
	case spec.Command != nil && blk.has("args"):
		r.fail(blk.where("args"), "Args for a command", "Write params = { NAME = VALUE }.",
			"A typed command is called with params.")
	case spec.Command != nil && !blk.has("params"):
		e.Params = []byte("{}")
	}
	return e
}

func (r *reader) passthrough(b *hcl.Block) *argv.Wrapper {
	body, options := splitOptions(b.Body)
	rest := *b
	rest.Body = body
	blk := r.open(&rest, "passthrough")
	blk.require("command")
	w := new(argv.Wrapper)
	blk.text("command", &w.Command)
	if blk.has("command") && w.Command == "" {
		r.fail(blk.where("command"), "No program", "Name a program.", "command is empty.")
	}
	blk.texts("prepend", &w.Prepend)
	blk.texts("forbid", &w.Forbid)
	blk.oneOf("unknown", &w.Unknown, "refuse", "allow")
	blk.boolean("number", &w.Number)
	separator := true
	blk.boolean("separator", &separator)
	w.NoSeparator = !separator
	w.Style = blk.style("option_style")
	blk.duration("timeout", &w.Timeout)
	blk.integers("success", &w.Success)
	blk.text("report", &w.Report)
	for _, name := range w.Forbid {
		r.optionName(name, blk.where("forbid"))
	}
	seen := make(map[string]hcl.Range)
	for _, nested := range append(options, blk.blocks...) {
		if nested.Type == "option" {
			w.Options = append(w.Options, r.option(nested, seen))
		}
	}
	blk.operands(w)
	return w
}

// splitOptions removes the option blocks from a body: a schema cannot have any number of labels.
func splitOptions(body hcl.Body) (hcl.Body, hcl.Blocks) {
	native := body.(*hclsyntax.Body)
	rest := *native
	rest.Blocks = nil
	var options hcl.Blocks
	for _, b := range native.Blocks {
		if b.Type == "option" {
			options = append(options, b.AsHCLBlock())
		} else {
			rest.Blocks = append(rest.Blocks, b)
		}
	}
	return &rest, options
}

func (r *reader) optionName(name string, at hcl.Range) {
	if len(name) < 2 || name[0] != '-' || name == "--" {
		r.fail(at, "Not an option", `Write it with its dashes: "-n", "--lines".`, "%q is not an option.", name)
	}
}

// option reads an option block. Its names are its labels, or words of one.
func (r *reader) option(b *hcl.Block, seen map[string]hcl.Range) argv.Option {
	blk := r.open(b, "option")
	o := argv.Option{Names: words(b.Labels)}
	if len(o.Names) == 0 {
		r.fail(b.DefRange, "Option without a name", `Write option "-n" "--lines" { ... }.`,
			"An option needs at least one name.")
	}
	for _, name := range o.Names {
		if first, ok := seen[name]; ok {
			r.fail(b.DefRange, "Option declared twice", "Remove one of them.", "%s is declared at %s already.", name,
				pos(first))
		}
		seen[name] = b.DefRange
		r.optionName(name, b.DefRange)
	}
	o.Value = blk.kind("value", argv.None, argv.String, argv.Number, argv.Read, argv.Write, argv.Remove)
	o.Values = blk.kinds("values")
	blk.boolean("optional", &o.Optional)
	blk.text("refuse", &o.Refuse)
	if o.Value != "" && blk.has("values") {
		r.fail(blk.where("values"), "Value and values", "Keep value for one, values for several.",
			"An option has one or the other.")
	}
	if o.Optional && (o.Value == "" || o.Value == argv.None) {
		r.fail(blk.where("optional"), "Optional value of a switch", "Say what the value is: value = \"string\".",
			"This option takes no value.")
	}
	return o
}

// style reads how options carry their values.
func (b block) style(name string) argv.Style {
	var s string
	b.oneOf(name, &s, string(argv.Equals), string(argv.Separate), string(argv.AsWritten))
	return argv.Style(s)
}

// kinds reads the kinds of values of an option with several.
func (b block) kinds(name string) []argv.Kind {
	var texts []string
	if !b.texts(name, &texts) {
		return nil
	}
	known := []string{string(argv.String), string(argv.Number), string(argv.Read), string(argv.Write),
		string(argv.Remove)}
	kinds := make([]argv.Kind, 0, len(texts))
	for _, text := range texts {
		if !slices.Contains(known, text) {
			b.fail(b.where(name), "Unknown value", mustBe(text, known), "An item of %s cannot be %q.", name, text)
			continue
		}
		kinds = append(kinds, argv.Kind(text))
	}
	if len(texts) < 2 {
		b.fail(b.where(name), "Too few values",
			`Write value = "string" for one, and values = ["string", "read"] for two.`,
			"%s is for options that take several values.", name)
	}
	return kinds
}

func (b block) kind(name string, kinds ...argv.Kind) argv.Kind {
	values := make([]string, len(kinds))
	for i, k := range kinds {
		values[i] = string(k)
	}
	var s string
	b.oneOf(name, &s, values...)
	return argv.Kind(s)
}

func (b block) operands(w *argv.Wrapper) {
	var first *hcl.Block
	for _, nested := range b.blocks {
		if nested.Type != "operands" {
			continue
		}
		if first != nil {
			b.fail(nested.DefRange, "Two operands blocks", "Put everything into one.", "There is one at %s already.",
				pos(first.DefRange))
			continue
		}
		first = nested
		o, blk := &w.Operands, b.open(nested, "operands")
		o.Type = blk.kind("type", argv.String, argv.Number, argv.Read, argv.Write, argv.Remove, argv.None)
		o.First = blk.kind("first", argv.String, argv.Number, argv.Read, argv.Write, argv.Remove)
		o.Last = blk.kind("last", argv.String, argv.Number, argv.Read, argv.Write, argv.Remove)
		blk.boolean("into", &o.Into)
		blk.count("min", &o.Min)
		blk.count("max", &o.Max)
		blk.pattern("refuse", &o.Refuse)
		blk.text("reason", &o.Reason)
		if o.Max > 0 && o.Max < o.Min {
			b.fail(blk.where("max"), "Empty range", "", "max is less than min.")
		}
		if o.First != "" && w.Open() {
			b.fail(blk.where("first"), "First operand of an open passthrough",
				`Declare its options, or add unknown = "refuse" for none.`,
				"If any option may pass, the first operand cannot be told from the value of an option.")
		}
		if o.Into && o.Last == "" {
			b.fail(blk.where("into"), "Nothing to go into", `Add last = "write".`,
				"into is about the last operand, and last is not set.")
		}
	}
}

// CheckExamples checks with paths that every tool's examples are accepted and its rejects refused. Nothing is
// run.
func CheckExamples(cfg *Config, paths argv.Paths) Diagnostics {
	var diags Diagnostics
	for i := range cfg.Tools {
		if cfg.Tools[i].Command == nil && cfg.Tools[i].Passthrough == nil {
			continue // a mistake that Parse reports
		}
		for _, problem := range cfg.Tools[i].CheckExamples(paths) {
			diag := &hcl.Diagnostic{
				Severity: hcl.DiagError, Summary: "Example does not hold",
				Detail: problem.Message + ". " + problem.Suggestion, Extra: &note{suggestion: problem.Suggestion},
			}
			if at, ok := cfg.places[problem.Pos]; ok {
				diag.Subject = &at
			}
			diags = append(diags, diagnostic(diag, cfg.file))
		}
	}
	return diags
}
