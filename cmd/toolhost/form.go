package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/text/jsontext"
)

// formField is a form's field in its schema.
type formField struct {
	name        string
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Type        string          `json:"type"`
	Default     json.RawMessage `json:"default"`
	Enum        []plainJSON     `json:"enum"`
	OneOf       []formChoice    `json:"oneOf"`
	Items       struct {
		Enum  []plainJSON  `json:"enum"`
		AnyOf []formChoice `json:"anyOf"`
	} `json:"items"`
}

type formChoice struct {
	Const plainJSON `json:"const"`
	Title string    `json:"title"`
}

// mostTries bounds the attempts for a field.
const mostTries = 3

// askForm asks for a form's fields in order, each up to three times until the answer fits. A form
// without fields is a yes or no question.
func (a *app) askForm(ctx context.Context, form tool.Form) (tool.Answer, error) {
	fmt.Fprintln(a.err, show.Text(form.Message))
	if form.URL != "" {
		fmt.Fprintf(a.err, "\n  %s\n\ntoolhost does not open it. If you trust the site, open it yourself and do "+
			"there what is asked.\n", show.Line(form.URL))
	}
	fields, required := formFields(form.Schema)
	if len(fields) == 0 {
		line, _, err := a.readLine(ctx, "Go on? (y/n): ")
		if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
			return tool.Answer{Action: "accept", Content: json.RawMessage(`{}`)}, err
		}
		return tool.Answer{Action: "decline"}, err
	}
	content := make(map[string]json.RawMessage)
	for _, f := range fields {
		for tries := 0; content[f.name] == nil; tries++ {
			if tries == mostTries {
				return tool.Answer{Action: "cancel"}, nil
			}
			line, ended, err := a.readLine(ctx, f.prompt()+": ")
			if err != nil || ended && line == "" {
				return tool.Answer{Action: "cancel"}, err
			}
			line = strings.TrimSpace(line)
			value, why := f.value(line), "an answer is needed"
			switch {
			case line == "" && len(f.Default) > 0:
				value, why = f.Default, ""
			case line != "":
				why = misfit(form.Schema, f.name, value)
			}
			if why == "" {
				content[f.name] = value
			} else if line == "" && !slices.Contains(required, f.name) {
				break
			} else {
				fmt.Fprintln(a.err, a.painter.yellow("! ")+show.Text(why))
			}
		}
	}
	return tool.Answer{Action: "accept", Content: tool.MustMarshal(content)}, nil
}

// formFields returns the fields of a form in written order.
func formFields(raw json.RawMessage) (fields []formField, required []string) {
	var form struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(raw, &form) != nil {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(form.Properties))
	_, _ = dec.Token()
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			break
		}
		var f formField
		if dec.Decode(&f) != nil {
			f = formField{} // then asked by its name
		}
		f.name, _ = name.(string)
		fields = append(fields, f)
	}
	return fields, form.Required
}

func (f *formField) prompt() string {
	prompt := cmp.Or(f.Title, f.Description, f.name)
	if choices := f.choices(); len(choices) > 0 {
		texts := make([]string, len(choices))
		for i, c := range choices {
			texts[i] = string(c.Const)
			if c.Title != "" && c.Title != string(c.Const) {
				texts[i] += " (" + c.Title + ")"
			}
		}
		prompt += " [" + strings.Join(texts, ", ") + "]"
	}
	if f.Type == "boolean" {
		prompt += " (true/false)"
	}
	if len(f.Default) > 0 {
		text := ""
		if json.Unmarshal(f.Default, &text) != nil { // not a string, but a number, for example
			text = jsontext.Compact(f.Default)
		}
		prompt += " (" + show.Line(text) + ")"
	}
	return show.Line(prompt)
}

func (f *formField) choices() []formChoice {
	var choices []formChoice
	for _, value := range slices.Concat(f.Enum, f.Items.Enum) {
		choices = append(choices, formChoice{Const: value})
	}
	return slices.Concat(choices, f.OneOf, f.Items.AnyOf)
}

// chosen returns the value with that title, or the text itself.
func (f *formField) chosen(text string) string {
	for _, c := range f.choices() {
		if c.Title != "" && strings.EqualFold(c.Title, text) {
			return string(c.Const)
		}
	}
	return text
}

// value parses a line as the field's type: lists are separated by commas, yes and no mean true and
// false.
func (f *formField) value(line string) json.RawMessage {
	line = f.chosen(line)
	switch f.Type {
	case "boolean":
		switch strings.ToLower(line) {
		case "y", "yes":
			line = "true"
		case "n", "no":
			line = "false"
		}
		fallthrough
	case "integer", "number":
		if json.Valid([]byte(line)) {
			return json.RawMessage(line)
		}
	case "array":
		items := strings.Split(line, ",")
		for i := range items {
			items[i] = f.chosen(strings.TrimSpace(items[i]))
		}
		return tool.MustMarshal(items)
	}
	return tool.MustMarshal(line)
}

// misfit returns what is wrong with a field's value, or "".
func misfit(form json.RawMessage, name string, value json.RawMessage) string {
	compiled, err := schema.Compile(form)
	if err != nil {
		return ""
	}
	_, _, violations := compiled.Decode(tool.MustMarshal(map[string]json.RawMessage{name: value}))
	for _, v := range violations {
		if text := v.String(); v.Path == name || strings.HasPrefix(v.Path, name+"[") {
			return text
		}
	}
	return ""
}
