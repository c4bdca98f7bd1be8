package clemini

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

const answerKey = "answer"

type askInput struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

func runAsk(ctx context.Context, _ Deps, call *tool.Call, in askInput) (*outcome, error) {
	answer, err := call.Ask(ctx, answerKey, in.form())
	switch {
	case isQuestion(err):
		return nil, err
	case err != nil:
		return nil, tool.Errorf(tool.Unavailable, "the user cannot be asked here: %w", err).
			Suggest("Put the question into your answer to the user, or decide by yourself and say so.")
	case !answer.Accepted():
		return nil, tool.Errorf(tool.Cancelled, "the user did not answer").
			Suggest("Do not ask again; decide by yourself, or ask for what else to do.").With("action", answer.Action)
	}
	var content map[string]any
	if err := json.Unmarshal(answer.Content, &content); err != nil || content[answerKey] == nil {
		return nil, tool.Errorf(tool.InvalidArgument, "the user's client sent no answer").
			Suggest("Put the question into your answer to the user.")
	}
	return &outcome{data: map[string]string{"answer": in.chosen(fmt.Sprint(content[answerKey]))}}, nil
}

func (in askInput) form() tool.Form {
	message := in.Question
	field := map[string]any{"type": "string", "title": "Answer"}
	if len(in.Options) > 0 {
		for i, option := range in.Options {
			message += fmt.Sprintf("\n  %d. %s", i+1, option)
		}
		field["description"] = "A number from the list, or an answer of your own."
	}
	return tool.Form{Message: message, Schema: tool.MustMarshal(map[string]any{
		"type": "object", "properties": map[string]any{answerKey: field}, "required": []string{answerKey},
	})}
}

// chosen returns the option with the given number, unless the number is itself an option, or
// else the answer.
func (in askInput) chosen(answer string) string {
	answer = strings.TrimSpace(answer)
	for _, option := range in.Options {
		if answer == option {
			return answer
		}
	}
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(in.Options) {
		return in.Options[n-1]
	}
	return answer
}
