package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// Again repeats the outcome's request with further answers: the call continues where it stopped.
func (o *Outcome) Again(r Request, given map[string]tool.Answer) Request {
	answers := make(map[string]tool.Answer)
	maps.Copy(answers, r.Answers)
	maps.Copy(answers, o.Answers)
	maps.Copy(answers, given)
	r.Answers, r.ID, r.Step = answers, o.RequestID, o.Step
	return r
}

// Question returns what a person is shown of a call before deciding on it.
func (o *Outcome) Question() show.Question {
	q := show.Question{Tool: o.Tool, Title: words(o.Tool), Rule: o.Decision.Rule, Reason: o.Decision.Reason,
		Argv: o.Argv}
	q.Connect = o.Connect
	if def := o.Definition; def != nil {
		q.Title, q.Risk = cmp.Or(def.Title, q.Title), string(def.Risk)
	}
	clean := o.Params
	var hides *redactor
	if def := o.Definition; def != nil {
		if secrets := schema.SecretsOf(def.Parameters); secrets != nil {
			var hidden []string
			clean, hidden = withoutWriteOnly(secrets, o.Params)
			hides = newRedactor(hidden)
			q.Argv = hidingWords(o.Argv, hidden, hides)
		}
	}
	var params map[string]json.RawMessage
	_ = json.Unmarshal(clean, &params)
	for _, name := range declaredOrder(params, o.Definition) {
		q.Params = append(q.Params, show.Param{Name: name, Value: params[name]})
	}
	for _, name := range []string{"command", "url", "path", "file_path", "file", "name"} {
		var text string
		if json.Unmarshal(params[name], &text) == nil && text != "" {
			q.Object = text
			break
		}
	}
	if o.Plan != nil {
		q.Files, q.Effect, q.Own = o.Plan.FilesAffected, hides.string(o.Plan.Preview), !o.foreign
	}
	return q
}

// words returns a tool's name as people write it.
func words(name string) string {
	text := strings.NewReplacer("_", " ", "-", " ").Replace(name)
	if text == "" {
		return name
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// declaredOrder sorts names of parameters as the tool declares them, others last.
func declaredOrder(params map[string]json.RawMessage, def *tool.Definition) []string {
	names := slices.Sorted(maps.Keys(params))
	if def == nil {
		return names
	}
	place := make(map[string]int)
	for i, name := range propertyNames(def.Parameters) {
		place[name] = i - len(def.Parameters) // before any undeclared one
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(place[a], place[b]) })
	return names
}

// propertyNames returns the properties of an object schema in written order.
func propertyNames(schema json.RawMessage) []string {
	var outer struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &outer) != nil {
		return nil
	}
	var names []string
	decoder := json.NewDecoder(bytes.NewReader(outer.Properties))
	_, _ = decoder.Token() // the opening brace
	for decoder.More() {
		name, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			break
		}
		names = append(names, fmt.Sprint(name))
	}
	return names
}
