package ocode

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

const thinkTokens = 4000

type thinkParams struct {
	Task     string `json:"task"`
	Context  string `json:"context"`
	Approach string `json:"approach"`
}

// oldThinking maps an old type of thinking to an approach.
func oldThinking(old json.RawMessage, _ map[string]json.RawMessage) (json.RawMessage, bool) {
	approach := map[string]string{
		"analyze": "step_by_step", "root_cause": "step_by_step", "breakdown": "step_by_step",
		"risk_assessment": "step_by_step",
		"pros_cons":       "pros_cons", "decision": "pros_cons",
		"compare": "alternatives", "brainstorm": "alternatives",
	}[strings.Trim(string(old), `"`)]
	return tool.MustMarshal(approach), approach != ""
}

// section is a part of an approach: its heading and what belongs there.
type section struct{ heading, about string }

func sections(approach string) []section {
	switch approach {
	case "pros_cons":
		return []section{
			{"Question", "What is to be decided, in one sentence, and what a good outcome has to fulfil."},
			{"Pros", "What speaks for it, the strongest first, each with its reason."},
			{"Cons", "What speaks against it, the strongest first, each with its reason."},
			{"Risks", "What is not known, and what could go wrong either way."},
			{"Conclusion", "Which side weighs more, and under what condition that would change."},
		}
	case "alternatives":
		return []section{
			{"Goal", "What is to be reached, and by what the ways to it are judged."},
			{"Alternatives", "At least three ways that really differ, including doing nothing if that is one."},
			{"Comparison", "How each fares by every yardstick: effort, risk, what it makes easy or hard later."},
			{"Choice", "Which one, and why not the others."},
			{"First step", "What to do first, and what would show that the choice was wrong."},
		}
	}
	return []section{
		{"Understanding", "What is asked, in one's own words, and what counts as done."},
		{"Known and unknown", "The facts that matter; what is assumed; what has to be found out."},
		{"Steps", "The steps in order, each with what it needs and what shows that it worked."},
		{"Pitfalls", "Where it may go wrong, and what to do then."},
		{"Conclusion", "The answer, or the next step."},
	}
}

func runThink(ctx context.Context, _ Deps, call *tool.Call, p thinkParams) (*outcome, error) {
	if strings.TrimSpace(p.Task) == "" {
		return nil, invalid("Say what to reason about.", "Task is required")
	}
	o := &outcome{metadata: facts{"approach": p.Approach, "used_model": false, "sections": p.headings()}}
	answer, err := call.Sample(ctx, tool.SampleRequest{System: p.system(), Prompt: p.prompt(), MaxTokens: thinkTokens})
	if err == nil && strings.TrimSpace(answer.Text) == "" {
		err = tool.Errorf(tool.Unavailable, "the language model gave an empty answer")
	}
	switch {
	case err == nil:
		o.set("used_model", true)
		if answer.Model != "" {
			o.set("model", answer.Model)
		}
		o.output = answer.Text
		return o, nil
	case tool.CodeOf(err) != tool.Unavailable:
		return nil, err // a question for the user, or a failed model
	}
	o.set("reason", err.Error())
	o.output = p.frame(err.Error())
	return o, nil
}

func (p thinkParams) headings() []string {
	var list []string
	for _, s := range sections(p.Approach) {
		list = append(list, s.heading)
	}
	return list
}

func (p thinkParams) system() string {
	var b strings.Builder
	b.WriteString("You reason about a task for someone who will act on it. Be concrete and brief, say what is " +
		"uncertain, and invent no facts. Answer in Markdown under exactly these headings:\n")
	for _, s := range sections(p.Approach) {
		b.WriteString("\n## " + s.heading + "\n" + s.about + "\n")
	}
	return b.String()
}

func (p thinkParams) prompt() string {
	prompt := "Task:\n" + p.Task
	if strings.TrimSpace(p.Context) != "" {
		prompt += "\n\nContext:\n" + p.Context
	}
	return prompt
}

// frame returns the approach to be filled in, with the reason why no model did.
func (p thinkParams) frame(reason string) string {
	var b strings.Builder
	b.WriteString("No language model has reasoned about this: " + reason +
		". This is the frame of the approach. Fill it in.\n\n# " + p.Task + "\n")
	if strings.TrimSpace(p.Context) != "" {
		b.WriteString("\nContext: " + p.Context + "\n")
	}
	for _, s := range sections(p.Approach) {
		b.WriteString("\n## " + s.heading + "\n" + s.about + "\n")
	}
	return b.String()
}
