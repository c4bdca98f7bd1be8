package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/internal/show"
)

// EffectKind says what kind of thing an effect is.
type EffectKind string

// The kinds of effects.
const (
	Runs     EffectKind = "run"     // Argv is run, with Stdin, Env and what is granted
	Connects EffectKind = "connect" // URL is connected to
	Offers   EffectKind = "offer"   // something is offered to clients: Value, or the file Paths
	Sets     EffectKind = "set"     // Attribute is set to Value, or to Paths
	Decides  EffectKind = "decide"  // calls that Attribute names are decided: Value
	Reads    EffectKind = "read"    // Value is read from the environment
)

// Effect is one thing that an agent.hcl does beyond restricting: what its user
// has to approve. Secrets are left out of all its texts; else they are as the
// file has them, so that whoever shows them has to make them harmless.
type Effect struct {
	// Pos is where it stands, "agent.hcl:12". It may be empty.
	Pos string `json:"pos,omitempty"`
	// Block is the type of the block, "tool", and Name its label.
	Block string     `json:"block"`
	Name  string     `json:"name,omitempty"`
	Kind  EffectKind `json:"kind"`
	// Attribute is what is set, "max_size", and Value what it is set to.
	Attribute string `json:"attribute,omitempty"`
	Value     string `json:"value,omitempty"`
	// Argv is a command, an item for each argument; {NAME} stands for the value
	// of a parameter, and a last item Rest for whatever the caller gives.
	Argv []string `json:"argv,omitempty"`
	Rest bool     `json:"rest,omitempty"`
	// Stdin is what the command reads, nil for nothing.
	Stdin *string `json:"stdin,omitempty"`
	// Env is added to the command's environment.
	Env map[string]string `json:"env,omitempty"`
	URL string            `json:"url,omitempty"`
	// Network, Read and Write are what the sandbox grants.
	Network bool   `json:"network,omitempty"`
	Read    []Path `json:"read,omitempty"`
	Write   []Path `json:"write,omitempty"`
	Paths   []Path `json:"paths,omitempty"`
	// More is what else the block says that counts: "version = ~> 1.2".
	More []Setting `json:"more,omitempty"`
}

// Path is a path that agent.hcl names.
type Path struct {
	Path string `json:"path"`
	// Leads is where symlinks lead, empty where there are none in it, and
	// Unknown where nobody can tell.
	Leads string `json:"leads,omitempty"`
}

// Unknown is where a path leads that cannot be followed.
const Unknown = "?"

// Setting is an attribute of a block, with its value as text.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// String gives the effect in one line, without its place: what could move a
// terminal's cursor, hide text or pass for something else is quoted.
func (e Effect) String() string {
	var b strings.Builder
	b.WriteString(e.subject())
	switch e.Kind {
	case Runs:
		b.WriteString(" runs " + e.line())
	case Connects:
		b.WriteString(" is reached at " + word(e.URL))
	case Offers:
		b.WriteString(" is offered" + before(" with ", e.paths()))
	case Reads:
		b.WriteString("reads " + word(e.Value) + " of the environment")
	case Decides:
		fmt.Fprintf(&b, ": %s%s", word(e.Value), before(" for ", e.Attribute))
	default:
		fmt.Fprintf(&b, " sets %s%s", e.Attribute, before(" = ", joined(e.paths(), word(e.Value))))
	}
	b.WriteString(e.extras())
	return b.String()
}

func (e Effect) subject() string {
	switch {
	case e.Kind == Reads:
		return ""
	case e.Name == "":
		return e.Block
	}
	return e.Block + " " + strconv.Quote(e.Name)
}

func (e Effect) line() string {
	words := make([]string, len(e.Argv))
	for i, a := range e.Argv {
		words[i] = word(a)
	}
	if e.Rest {
		words = append(words, "ARGS")
	}
	return strings.Join(words, " ")
}

func (e Effect) paths() string {
	return shownPaths(e.Paths)
}

// extras is what is said after what runs.
func (e Effect) extras() string {
	var parts []string
	if e.Stdin != nil {
		parts = append(parts, "reading the input "+word(*e.Stdin))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		parts = append(parts, word(name)+"="+word(e.Env[name]))
	}
	if e.Network {
		parts = append(parts, "network")
	}
	if len(e.Read) > 0 {
		parts = append(parts, "reading "+shownPaths(e.Read))
	}
	if len(e.Write) > 0 {
		parts = append(parts, "writing "+shownPaths(e.Write))
	}
	for _, s := range e.More {
		parts = append(parts, s.Name+" = "+word(s.Value))
	}
	return before(", with ", strings.Join(parts, ", "))
}

func before(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

func shownPaths(paths []Path) string {
	all := make([]string, len(paths))
	for i, p := range paths {
		all[i] = word(p.Path)
		if p.Leads != "" {
			all[i] += " (leads to " + word(p.Leads) + ")"
		}
	}
	return strings.Join(all, ", ")
}

// word shows a text: as it is where it is one visible word, else quoted.
func word(s string) string {
	plain := s == show.Line(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`"'`+"`\\", r)
	})
	if plain {
		return s
	}
	return show.Line(strconv.Quote(s))
}
