package mcpclient

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// A server's texts for models and people go through package show. The contents of results do not: those are data.
const (
	saidPrompt = 64 << 10 // a prompt's message
	saidForm   = 64 << 10
)

// sanitize cleans the server's texts about itself. Tool names stay: they identify tools at the server, and are
// shown as tool.PortableName returns them.
func (l *listing) sanitize() {
	l.Server, l.Version = show.SanitizeLine(l.Server, show.MostName), show.SanitizeLine(l.Version, show.MostName)
	l.Protocol, l.Instructions = show.SanitizeLine(l.Protocol, show.MostName), show.Sanitize(l.Instructions, show.MostText)
	for i := range l.Tools {
		t := &l.Tools[i]
		t.Title, t.Annotations.Title = show.SanitizeLine(t.Title, show.MostName),
			show.SanitizeLine(t.Annotations.Title, show.MostName)
		t.Description = show.Sanitize(t.Description, show.MostText)
		if said := show.SanitizeSchema(t.Input); said != nil || len(t.Input) == 0 {
			t.Input = said
		} else {
			t.Input = json.RawMessage(schema.Unseen)
		}
		t.Output = show.SanitizeSchema(t.Output)
	}
}

// formOf returns the schema of a form for the user. One that cannot be shown exactly is refused: users could not
// know what they agree to.
func formOf(schema any) (json.RawMessage, error) {
	if schema == nil {
		return nil, nil
	}
	said, clear := show.Schema(tool.MustMarshal(schema), show.MostMessage)
	if !clear || len(said) > saidForm {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "the user is not asked: the form is too long, or holds characters that cannot be seen"}
	}
	return said, nil
}

// budget is the remaining bytes of a list.
type budget int

// listBudget bounds a server's prompts or resources, and one prompt.
const listBudget budget = 256 << 10

func (b *budget) takes(entry any) bool {
	*b -= budget(len(tool.MustMarshal(entry)))
	return *b >= 0
}

// shownUnchanged reports whether a name is shown unchanged. Others cannot be shown: they would name something
// else.
func shownUnchanged(name string, most int) bool { return show.SanitizeLine(name, most) == name }

// saidResource returns false for a resource whose name cannot be shown.
func saidResource(r Resource) (said Resource, ok bool) {
	r.Name, r.Description, r.MIMEType = show.SanitizeLine(r.Name, show.MostName), show.Sanitize(r.Description, show.MostText),
		show.SanitizeLine(r.MIMEType, show.MostName)
	return r, shownUnchanged(r.URI, show.MostMessage)
}

// saidPromptOf returns false for a prompt whose name, or an argument's, cannot be shown.
func saidPromptOf(p *mcp.Prompt) (said Prompt, ok bool) {
	ok = shownUnchanged(p.Name, show.MostName)
	said = Prompt{Name: p.Name, Description: show.Sanitize(p.Description, show.MostText)}
	for _, a := range p.Arguments {
		ok = ok && shownUnchanged(a.Name, show.MostName)
		said.Arguments = append(said.Arguments,
			PromptArgument{a.Name, show.Sanitize(a.Description, show.MostMessage), a.Required})
	}
	return said, ok
}
