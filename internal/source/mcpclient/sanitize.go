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
	saidPrompt = 64 << 10 // one message of a prompt
	saidForm   = 64 << 10
)

// sanitize cleans the server's texts about itself. Names of tools stay: the server knows them by these, and they
// are shown as tool.PortableName has them.
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

// formOf is the schema of a form for a person to fill in. One that cannot be shown exactly is refused: people could
// not know what they agree to.
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

// budget is how many bytes of a list are still shown.
type budget int

// listBudget is for all prompts or resources of a server, and for one prompt.
const listBudget budget = 256 << 10

// takes reports whether the budget suffices for an entry, and deducts it.
func (b *budget) takes(entry any) bool {
	*b -= budget(len(tool.MustMarshal(entry)))
	return *b >= 0
}

// shownUnchanged reports whether a name is shown unchanged. Another cannot be shown: it would name something else.
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
