package argv

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// Resource declares what clients read by a URI.
type Resource struct {
	Name, Title, Description string
	// URI names it; {name} in it stands for one segment, {+name} for anything.
	URI string
	// Params are the variables of URI.
	Params []Param
	// Complete suggests values for them.
	Complete map[string]Suggestions
	// Command prints the content; nil if Content has it.
	Command *Template
	Content Content
	// Watch notifies clients of changes of Content's file.
	Watch       bool
	Risk        tool.Risk
	Permissions []tool.Permission
	Access      Access
	// Pos is where the resource was declared, for messages.
	Pos string
}

// Prompt declares messages for users to choose.
type Prompt struct {
	Name, Title, Description string
	Arguments                []Argument
	// Complete suggests values for the arguments.
	Complete map[string]Suggestions
	Asks     []Ask
	Messages []Message
	// Pos is where the prompt was declared, for messages.
	Pos string
}

// Argument is an argument of a prompt: always a text.
type Argument struct {
	Param
	Title string
}

// Suggestions are suggested values for an argument.
type Suggestions struct {
	// Values are always suggested.
	Values []string
	// By has suggestions by the names and values of other arguments.
	By map[string]map[string][]string
}

// For returns the suggestions for these values of other arguments.
func (s Suggestions) For(chosen map[string]string) []string {
	values := slices.Clone(s.Values)
	for name, by := range s.By {
		values = append(values, by[chosen[name]]...)
	}
	return values
}

// Message is a message of a prompt.
type Message struct {
	// Role is "user" or "assistant".
	Role string
	Content
}

// URITemplate is a parsed URI with variables.
type URITemplate struct {
	names   []string
	pattern *regexp.Regexp
}

// ParseURITemplate parses a URI with {name} and {+name}.
func ParseURITemplate(text string) (*URITemplate, error) {
	t := new(URITemplate)
	var pattern strings.Builder
	pattern.WriteString("^")
	for rest := text; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return nil, fmt.Errorf("a } has no {")
		}
		if i := strings.IndexFunc(literal, notInURI); i >= 0 {
			return nil, fmt.Errorf("%q cannot stand in a URI: write it percent-encoded", []rune(literal[i:])[0])
		}
		pattern.WriteString(regexp.QuoteMeta(literal))
		if !found {
			break
		}
		name, more, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf("a { has no }")
		}
		part := "((?:[^/?#%]|%[[:xdigit:]]{2})+)" // a variable ends before or behind an escape, not in it
		if plain, ok := strings.CutPrefix(name, "+"); ok {
			name, part = plain, `((?:[^%\n]|%[[:xdigit:]]{2})+)`
		}
		if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return nil, fmt.Errorf("{%s} is not a valid variable: write {name}, or {+name} for a text with slashes", name)
		}
		if slices.Contains(t.names, name) {
			return nil, fmt.Errorf("{%s} stands in it twice", name)
		}
		t.names = append(t.names, name)
		pattern.WriteString(part)
		rest = more
	}
	var err error
	t.pattern, err = regexp.Compile(pattern.String() + "$")
	return t, err
}

func notInURI(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"'<>\\^`|", r) }

// Names returns the variables, in order.
func (t *URITemplate) Names() []string { return t.names }

// Match returns the values of the variables in a URI, percent-decoded.
func (t *URITemplate) Match(uri string) (map[string]string, bool) {
	parts := t.pattern.FindStringSubmatch(uri)
	if parts == nil {
		return nil, false
	}
	values := make(map[string]string, len(t.names))
	for i, name := range t.names {
		value, err := url.PathUnescape(parts[i+1])
		if err != nil {
			return nil, false
		}
		values[name] = value
	}
	return values, true
}
