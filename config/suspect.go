package config

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/internal/matching"
)

// suspect warns of what is valid in a command and hardly meant.
func (c compiler) suspect(list []argv.Expr, e hcl.Expression) {
	items, diags := hcl.ExprList(e)
	place := func(i int) hcl.Range {
		if diags.HasErrors() || len(items) != len(list) {
			return e.Range()
		}
		return items[i].Range()
	}
	script := scriptWord(list)
	for i := range list {
		c.unbraced(&list[i], place(i))
		if i == script {
			c.injection(&list[i], place(i))
		} else if i > 0 && isOperator(list[i].Literal) && !comparing(list[0].Literal) {
			c.warn(place(i), "Shell operator", `Run a script that does it, or ["sh", "-c", "..."].`,
				"No shell reads argv, so %s is an argument like any other.", list[i].Literal)
		}
	}
}

// isOperator reports a word that means something to a shell alone.
func isOperator(word string) bool {
	return slices.Contains([]string{"|", "||", "&&", ">", ">>", "<", "2>", "2>&1", "|&"}, word)
}

// comparing names the programs for which < and | are operators of their own.
func comparing(program string) bool {
	return slices.Contains([]string{"expr", "test", "["}, path.Base(program))
}

// codeOptions are the options behind which an interpreter takes code.
var codeOptions = map[string]func() *regexp.Regexp{
	"sh": shellCode, "bash": shellCode, "dash": shellCode, "zsh": shellCode, "ksh": shellCode, "ash": shellCode,
	"fish":   shellCode,
	"python": pythonCode, "python3": pythonCode,
	"perl": scriptCode, "ruby": scriptCode, "node": matching.Lazy(`^(-e|-p|-pe|--eval|--print)$`),
	"php": matching.Lazy(`^-r$`),
}

var (
	shellCode  = matching.Lazy(`^-[a-z]*c$`)
	pythonCode = matching.Lazy(`^-[a-zA-Z]*c$`)
	scriptCode = matching.Lazy(`^-[a-z]*[eE]$`)
)

// scriptWord is the word of an argument list that is code, -1 for none.
func scriptWord(list []argv.Expr) int {
	var option func() *regexp.Regexp
	for i := range list {
		switch word := list[i].Literal; {
		case option == nil:
			option = codeOptions[path.Base(word)]
		case option().MatchString(word) && i+1 < len(list):
			return i + 1
		}
	}
	return -1
}

// injection warns of code with the value of a parameter in it.
func (c compiler) injection(word *argv.Expr, at hcl.Range) {
	if word.Concat == nil {
		return // the whole script is the agent's, and looks like it
	}
	for _, name := range word.Params() {
		p := c.params.value(name)
		if p == nil || len(p.Enum) > 0 || p.Pattern != "" || p.Type != argv.TypeString && p.Item != argv.TypeString {
			continue
		}
		c.warn(at, "Parameter inside code",
			`Pass it as an argument: ["sh", "-c", "ls -- \"$1\"", "sh", param.`+name+
				`]; or give it an enum or a pattern.`,
			"What an agent gives for %q is read as code, so it can run any command.", name)
		return
	}
}

var reference = matching.Lazy(`\$(param|ask|var|local)\.([A-Za-z_][A-Za-z0-9_-]*)`)

// unbraced warns of a reference in a text whose braces were forgotten.
func (c compiler) unbraced(e *argv.Expr, at hcl.Range) {
	for i := range e.Concat {
		c.unbraced(&e.Concat[i], at)
	}
	for _, found := range reference().FindAllStringSubmatch(e.Literal, -1) {
		root, name := found[1], found[2]
		known := root == "param" && c.params.find(name) != nil || root == "var" && c.vars[name] != nil ||
			root == "local" && c.locals[name] != nil
		if root == "ask" {
			known = slices.ContainsFunc(c.params.asks, func(a argv.Ask) bool { return a.Key == name })
		}
		if known {
			c.params.misspelt = c.params.misspelt || root == "param"
			c.warn(at, "Reference without braces", "Write ${"+strings.TrimPrefix(found[0], "$")+"}.",
				"%s is plain text here.", found[0])
		}
	}
}
