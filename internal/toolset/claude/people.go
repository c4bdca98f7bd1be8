package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/run/netguard/markdown"
	"github.com/toolhost/toolhost/internal/text/truncate"
	"github.com/toolhost/toolhost/internal/toolset/hands"
)

type todoInput struct {
	Todos []struct {
		Content    string `json:"content"`
		Status     string `json:"status"`
		ActiveForm string `json:"activeForm"`
	} `json:"todos"`
}

func runTodo(ctx context.Context, _ hands.Deps, call *tool.Call, in todoInput) (*hands.Outcome, error) {
	if err := call.State(tool.SessionScope).Set(ctx, "todos", tool.MustMarshal(in.Todos)); err != nil {
		return nil, err
	}
	for _, item := range in.Todos {
		if item.Status == "in_progress" {
			call.Progress(ctx, tool.Progress{Message: item.ActiveForm})
		}
	}
	return hands.Say("Todos have been modified successfully. Ensure that you continue to use the todo list to track " +
		"your progress. Please proceed with the current tasks if applicable"), nil
}

type fetchInput struct {
	URL    string `json:"url"`
	Prompt string `json:"prompt"`
}

// maxPage is how much of a page is shown, in bytes of Markdown.
const maxPage = 100_000

// runFetch returns the page itself: no model reads it first.
func runFetch(ctx context.Context, deps hands.Deps, _ *tool.Call, in fetchInput) (*hands.Outcome, error) {
	web, err := netguard.New(netguard.Options{Allow: deps.WebAllow})
	if err != nil {
		return nil, err
	}
	page, err := web.Fetch(ctx, netguard.Request{URL: strings.TrimSpace(in.URL), Truncate: true})
	if err != nil {
		return nil, err
	}
	if page.StatusCode < 200 || page.StatusCode > 299 {
		return nil, tool.Errorf(tool.Unavailable, "Request failed with status code %d", page.StatusCode).
			Suggest("Check the URL.")
	}
	if !page.Textual() {
		return nil, tool.Errorf(tool.Unsupported, "The content is %s, which is not text", page.MediaType()).
			Suggest("Name a page, or download the file with curl by Bash if commands may use the network.")
	}
	text := page.Text()
	if strings.Contains(page.MediaType(), "html") {
		if text, err = markdown.FromHTML(ctx, text); err != nil {
			return nil, err
		}
	}
	text = strings.TrimSpace(text)
	out := hands.Say(truncate.Head(text, maxPage))
	if left := len(text) - len(out.Text); left > 0 || page.Truncated {
		least := map[bool]string{true: "at least "}[page.Truncated]
		out.Text += fmt.Sprintf("\n\n[... %s%d more bytes are left out; fetch a page about a part of it]", least, left)
		out.Truncated = true
	}
	out.Text += "\n\n[The page itself: no model has read it for the prompt.]"
	return out, nil
}

type question struct {
	Question string `json:"question"`
	Header   string `json:"header"`
	Options  []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
	Multi bool `json:"multiSelect"`
}

type askInput struct {
	Questions []question `json:"questions"`
}

const answerKey = "answer"

func (q question) form() tool.Form {
	message := q.Question
	for i, o := range q.Options {
		message += fmt.Sprintf("\n  %d. %s: %s", i+1, o.Label, o.Description)
	}
	hint := "A number from the list, or an answer of your own."
	if q.Multi {
		hint = "Numbers from the list with commas between them, or an answer of your own."
	}
	return tool.Form{Message: message, Schema: tool.MustMarshal(map[string]any{
		"type": "object", "required": []string{answerKey},
		"properties": map[string]any{answerKey: map[string]any{"type": "string", "title": q.Header, "description": hint}},
	})}
}

// chosen returns the options that numbers pick, or the answer itself.
func (q question) chosen(answer string) string {
	var labels []string
	for part := range strings.SplitSeq(answer, ",") {
		for i, o := range q.Options {
			if part = strings.TrimSpace(part); part == fmt.Sprint(i+1) || part == o.Label {
				labels = append(labels, o.Label)
			}
		}
	}
	if len(labels) == 0 {
		return strings.TrimSpace(answer)
	}
	return strings.Join(labels, ", ")
}

func runAsk(ctx context.Context, _ hands.Deps, call *tool.Call, in askInput) (*hands.Outcome, error) {
	var asked []tool.Question
	for i, q := range in.Questions {
		asked = append(asked, tool.Question{Key: fmt.Sprintf("%s%d", answerKey, i), Form: q.form()})
	}
	answers, err := call.AskAll(ctx, asked...)
	if errors.Is(err, tool.ErrInputRequired) {
		return nil, err
	}
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the user cannot be asked here: %w", err).
			Suggest("Put the questions into your answer to the user, or decide by yourself and say so.")
	}
	var said []string
	for i, q := range in.Questions {
		answer := answers[asked[i].Key]
		if !answer.Accepted() {
			return nil, tool.Errorf(tool.Cancelled, "The user declined to answer questions").
				Suggest("Do not ask again; decide by yourself, or ask for what else to do.")
		}
		var content map[string]any
		if err := json.Unmarshal(answer.Content, &content); err != nil {
			return nil, tool.Errorf(tool.InvalidArgument, "the user's client sent no answer").
				Suggest("Put the questions into your answer to the user.")
		}
		said = append(said, fmt.Sprintf("%q=%q", q.Question, q.chosen(fmt.Sprint(content[answerKey]))))
	}
	return hands.Say("User has answered your questions: " + strings.Join(said, ", ") +
		". You can now continue with the user's answers in mind."), nil
}
