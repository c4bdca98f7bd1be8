package tool

import (
	"context"
	"encoding/json"
)

// Resource is a tool that clients read by its URI: a call with the values of the URI's variables as parameters
// returns the contents. The name in its Definition, "resource:NAME", is for policies and the record.
type Resource interface {
	Tool
	// Resource describes the resource to clients.
	Resource() *ResourceDefinition
	// Match returns the parameters for a URI, and false for others' URIs.
	Match(uri string) (params json.RawMessage, ok bool)
}

// ResourceDefinition is what clients see of a resource.
type ResourceDefinition struct {
	Name, Title, Description string
	// URI names the resource, or is a template of RFC 6570 for all that match.
	URI      string
	Template bool
	MIMEType string
}

// Watched is implemented by resources whose content changes with files.
type Watched interface {
	// Watch returns the absolute paths of the files.
	Watch() []string
}

// Prompt is a tool that users choose as a template of messages: a call with the arguments as parameters returns
// the messages as contents with a Role. The name in its Definition is "prompt:NAME".
type Prompt interface {
	Tool
	// Prompt describes the prompt to clients.
	Prompt() *PromptDefinition
}

// PromptDefinition is what clients see of a prompt.
type PromptDefinition struct {
	Name, Title, Description string
	Arguments                []PromptArgument
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
}

// Completer is implemented by resources, prompts and tools that can suggest values.
type Completer interface {
	// Complete returns the values of an argument with the typed prefix, sorted; nil for an unknown argument.
	Complete(ctx context.Context, wanted Completion) ([]string, error)
}

// Completion is a user's present input of arguments.
type Completion struct {
	// Argument is the name of the one being typed, Typed its beginning.
	Argument, Typed string
	// Chosen are the values of other arguments, as far as the client sends them.
	Chosen map[string]string
}
