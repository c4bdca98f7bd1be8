package command

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

// Answers asks questions, all at once if the caller can, and adds the answers to values. Without a host, as in a
// preview, nothing is asked.
func Answers(ctx context.Context, call *tool.Call, asks []argv.Ask, values map[string]any) error {
	if call.Host == nil {
		return nil
	}
	var open []*tool.InputRequired
	for i := range asks {
		err := answer(ctx, call, &asks[i], values)
		if question, ok := errors.AsType[*tool.InputRequired](err); ok {
			open = append(open, question)
		} else if err != nil {
			return err
		}
	}
	if len(open) == 0 {
		return nil
	}
	first := *open[0]
	first.Also = append(first.Also, open[1:]...)
	return &first
}

func answer(ctx context.Context, call *tool.Call, ask *argv.Ask, values map[string]any) error {
	given, err := call.Ask(ctx, ask.Key, ask.Question(values))
	if err != nil {
		if ask.Optional && tool.CodeOf(err) == tool.Unavailable && !errors.Is(err, tool.ErrInputRequired) {
			return nil
		}
		return err
	}
	if !given.Accepted() {
		if ask.Optional {
			return nil
		}
		var closed struct{ Reason string } // from the face
		if json.Unmarshal(given.Content, &closed) == nil && closed.Reason != "" {
			return tool.Errorf(tool.Denied, "the question %q was not answered, so %s did not run: %s", ask.Key, call.Tool,
				closed.Reason).
				Suggest("Tell the user. If the client cannot draw this form, make the call on a terminal: toolhost call %s",
					call.Tool)
		}
		return tool.Errorf(tool.Denied, "the user did not answer the question %q (%s), so %s did not run", ask.Key,
			given.Action, call.Tool).
			Suggest("Do not repeat the call; ask the user what to do instead.")
	}
	answered, err := ask.Read(given)
	for name, value := range answered {
		values[name] = value
	}
	return err
}
