package argv

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

// Ask is a question before a command runs: a form for the user or, if set, a question to a model or for the
// client's roots.
type Ask struct {
	// Key names the question; its answer is used as ask.KEY.FIELD.
	Key string
	// Message is what the user reads.
	Message Expr
	// Fields make the form, unless Form is set: its schema as written.
	Fields []Field
	Form   json.RawMessage
	// Model asks a language model.
	Model *AskModel
	// Roots asks the client for its working directories.
	Roots bool
	// Optional lets the command run without an answer.
	Optional bool
	// Pos is where the question was declared, for messages.
	Pos string
}

// AskModel is a question to a language model.
type AskModel struct {
	Prompt, System Expr
	MaxTokens      int
}

// Field is a field of a form.
type Field struct {
	Param
	Title string
	// Titles are shown to people in place of the values of Enum.
	Titles []string
	// Format is "email", "uri", "date" or "date-time"; may be empty.
	Format string
	// Required is false for a field that may be left empty.
	Required bool
}

// Ref returns the name of a part of an answer in expressions.
func Ref(key, field string) string { return "ask." + key + "." + field }

// Names returns the parts of the answer that expressions may use.
func (a *Ask) Names() []string {
	switch {
	case a.Model != nil:
		return []string{"text", "model"}
	case a.Roots:
		return []string{"roots"}
	case a.Form != nil:
		names := []string{}
		for _, p := range SchemaParams(a.Form) {
			names = append(names, p.Name)
		}
		return names
	}
	names := make([]string, len(a.Fields))
	for i := range a.Fields {
		names[i] = a.Fields[i].Name
	}
	return names
}

// Params returns the parts of the answer as parameters.
func (a *Ask) Params() []Param {
	var params []Param
	switch {
	case a.Model != nil:
		params = []Param{{Name: "text", Type: TypeString}, {Name: "model", Type: TypeString}}
	case a.Roots:
		params = []Param{{Name: "roots", Type: TypeList, Item: TypeString}}
	case a.Form != nil:
		params = SchemaParams(a.Form)
	}
	for _, f := range a.Fields {
		params = append(params, f.Param)
	}
	for i := range params {
		params[i].Name = Ref(a.Key, params[i].Name)
	}
	return params
}

// Question returns the form of the question, filled with the values of parameters.
func (a *Ask) Question(values map[string]any) tool.Form {
	form := tool.Form{Message: a.Message.Text(values)}
	switch {
	case a.Model != nil:
		form.Sample = &tool.SampleRequest{System: a.Model.System.Text(values), Prompt: a.Model.Prompt.Text(values),
			MaxTokens: a.Model.MaxTokens}
	case a.Roots:
		form.Roots = true
	default:
		form.Schema = a.Schema()
	}
	return form
}

// Schema returns the flat JSON Schema of the form.
func (a *Ask) Schema() json.RawMessage {
	if a.Form != nil {
		return a.Form
	}
	var properties strings.Builder
	required := []string{}
	for i := range a.Fields {
		if i > 0 {
			properties.WriteByte(',')
		}
		fmt.Fprintf(&properties, "%s:%s", tool.MustMarshal(a.Fields[i].Name), a.Fields[i].schema())
		if a.Fields[i].Required {
			required = append(required, a.Fields[i].Name)
		}
	}
	list := ""
	if len(required) > 0 {
		list = `,"required":` + string(tool.MustMarshal(required))
	}
	return json.RawMessage(`{"type":"object","properties":{` + properties.String() + `}` + list + `}`)
}

type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

type fieldJSON struct {
	paramJSON
	Title  string   `json:"title,omitempty"`
	Format string   `json:"format,omitempty"`
	OneOf  []choice `json:"oneOf,omitempty"`
	Items  any      `json:"items,omitempty"`
}

func (f *Field) schema() json.RawMessage {
	s := fieldJSON{Title: f.Title, Format: f.Format}
	s.paramJSON = f.Param.keywords()
	if s.paramJSON.Items != nil {
		s.Items = s.paramJSON.Items
	}
	if len(f.Titles) == 0 {
		return tool.MustMarshal(s)
	}
	choices := make([]choice, len(f.Enum))
	for i, value := range f.Enum {
		choices[i] = choice{value, f.Titles[i]}
	}
	if f.Type == TypeList {
		s.Items = map[string]any{"anyOf": choices}
	} else {
		s.Enum, s.OneOf = nil, choices
	}
	return tool.MustMarshal(s)
}

// Read returns the values of an answer. If it does not fit the form, the error is of code invalid_argument.
func (a *Ask) Read(answer tool.Answer) (map[string]any, error) {
	content := answer.Content
	if len(content) == 0 {
		content = json.RawMessage(`{}`)
	}
	var values map[string]any
	switch {
	case a.Roots:
		var roots tool.Roots
		if err := json.Unmarshal(content, &roots); err != nil {
			return nil, a.misfit(err.Error())
		}
		uris := make([]any, len(roots.Roots))
		for i, r := range roots.Roots {
			uris[i] = r.URI
		}
		values = map[string]any{"roots": uris}
	case a.Model != nil:
		if err := json.Unmarshal(content, &values); err != nil {
			return nil, a.misfit(err.Error())
		}
	default:
		compiled, err := schema.Compile(a.Schema())
		if err != nil {
			return nil, a.misfit(err.Error())
		}
		_, decoded, violations := compiled.Decode(content)
		if len(violations) > 0 {
			return nil, a.misfit(schema.Join(violations))
		}
		values = decoded
	}
	named := make(map[string]any, len(values))
	for name, value := range values {
		named[Ref(a.Key, name)] = value
	}
	return named, nil
}

func (a *Ask) misfit(why string) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "the answer to the question %q does not fit its form: %s", a.Key, why).
		Suggest("Call again and answer the question as its form says.")
}
