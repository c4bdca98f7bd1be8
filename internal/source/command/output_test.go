package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/command"
)

func expr(text string) *argv.Expr { return &argv.Expr{Literal: text} }

func TestOutputs(t *testing.T) {
	ws := open(t)
	png := []byte("\x89PNG\r\n\x1a\n\x00\xff")
	spec := script(`printf 'iVBO\nRw==' ; printf '\211PNG\r\n\032\n\000\377' > "$1"; echo noise >&2`, argv.Settings{})
	spec.Outputs = []argv.Content{
		{Kind: tool.KindText, Text: &argv.Expr{Concat: []argv.Expr{{Literal: "Wrote "}, {Param: "arg"}}}},
		{Kind: tool.KindImage, MIME: "image/png", File: &argv.Expr{Param: "arg"}},
		{Kind: tool.KindAudio, MIME: "audio/wav", Base64: true},
		{Kind: tool.KindResource, URI: expr("a:b"), Text: expr("text")},
		{Kind: tool.KindResource, URI: expr("a:c"), Data: png},
	}
	result, err := run(t, spec, command.Deps{Workspace: ws}, `{"arg":"e\u0301.png"}`)
	require.NoError(t, err)
	assert.Equal(t, []tool.Content{
		{Kind: tool.KindText, Text: "Wrote e\u0301.png"},
		{Kind: tool.KindImage, MIMEType: "image/png", Data: png},
		{Kind: tool.KindAudio, MIMEType: "audio/wav", Data: []byte("\x89PNG")},
		{Kind: tool.KindResource, URI: "a:b", MIMEType: "text/plain", Text: "text"},
		{Kind: tool.KindResource, URI: "a:c", MIMEType: "application/octet-stream", Data: png},
	}, result.Contents)
	assert.FileExists(t, filepath.Join(ws.Root(), "e\u0301.png"))

	tl, err := command.New(spec, command.Deps{Workspace: ws})
	require.NoError(t, err)
	assert.Contains(t, tl.Definition().Description, "Returns: text, an image, a sound, a resource, a resource.")
}

func TestJSONOutput(t *testing.T) {
	spec := script(`printf '%s' "$1"`, argv.Settings{})
	spec.Outputs = []argv.Content{{Kind: tool.KindText, JSON: true}}
	result, err := run(t, spec, command.Deps{Workspace: open(t)}, `{"arg":"{ \"n\": 1.50 }"}`)
	require.NoError(t, err)
	assert.Equal(t, `{"n":1.50}`, string(result.Structured))
	assert.Equal(t, `{ "n": 1.50 }`, result.Text())

	_, err = run(t, spec, command.Deps{Workspace: open(t)}, `{"arg":"no json"}`)
	assert.Equal(t, tool.CommandFailed, tool.CodeOf(err))
	assert.Contains(t, tool.AsError(err).Suggestion, "no json")
}

func TestOutputsThatCannotBeMade(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s"), 0o600))
	for _, tt := range []struct {
		name   string
		output argv.Content
		code   tool.Code
	}{
		{"missing file", argv.Content{Kind: tool.KindImage, MIME: "image/png", File: expr("no.png")}, tool.NotFound},
		{"outside", argv.Content{Kind: tool.KindText, File: expr(secret)}, tool.PathOutsideWorkspace},
		{"no name", argv.Content{Kind: tool.KindText, File: &argv.Expr{Param: "arg"}}, tool.InvalidArgument},
		{"no base64", argv.Content{Kind: tool.KindImage, MIME: "image/png", Base64: true}, tool.CommandFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := script(`printf '%%'`, argv.Settings{})
			spec.Outputs = []argv.Content{tt.output}
			_, err := run(t, spec, command.Deps{Workspace: open(t)}, `{"arg":""}`)
			assert.Equal(t, tt.code, tool.CodeOf(err), "%v", err)
		})
	}
}

// Output longer than what is shown is returned whole.
func TestLongOutputIsWhole(t *testing.T) {
	spec := script(`head -c 300000 /dev/zero | tr '\0' x`, argv.Settings{})
	spec.Outputs = []argv.Content{{Kind: tool.KindText}}
	result, err := run(t, spec, command.Deps{Workspace: open(t), OutputCap: 1000}, `{}`)
	require.NoError(t, err)
	assert.Len(t, result.Text(), 300000)

	spec = script(`head -c 11000000 /dev/zero`, argv.Settings{})
	spec.Outputs = []argv.Content{{Kind: tool.KindImage, MIME: "image/png"}}
	_, err = run(t, spec, command.Deps{Workspace: open(t)}, `{}`)
	assert.Equal(t, tool.TooLarge, tool.CodeOf(err))
}

// asked is a host that answers questions, or passes them up.
type asked struct {
	tool.Services
	answers  map[string]tool.Answer
	nobody   bool
	progress []tool.Progress
	logs     []string
}

func (a *asked) Ask(_ context.Context, key string, form tool.Form) (tool.Answer, error) {
	if answer, ok := a.answers[key]; ok {
		return answer, nil
	}
	if a.nobody {
		return tool.Answer{}, tool.Errorf(tool.Unavailable, "nobody can be asked")
	}
	return tool.Answer{}, &tool.InputRequired{Key: key, Form: form}
}

func (a *asked) Progress(_ context.Context, p tool.Progress) { a.progress = append(a.progress, p) }

func (a *asked) Log(_ context.Context, level slog.Level, message string, _ ...slog.Attr) {
	a.logs = append(a.logs, level.String()+" "+message)
}

func accept(content string) tool.Answer {
	return tool.Answer{Action: "accept", Content: json.RawMessage(content)}
}

func asking() argv.Spec {
	spec := script(`touch ran; printf '%s|%s|%s' "$@"`, argv.Settings{})
	spec.Command.Argv = append(spec.Command.Argv, argv.Expr{Param: "ask.who.name"}, argv.Expr{Param: "ask.what.text"})
	spec.Asks = []argv.Ask{
		{Key: "who", Message: argv.Expr{Literal: "Who?"},
			Fields: []argv.Field{{Param: argv.Param{Name: "name", Type: argv.TypeString, Max: "9"},
				Required: true}}},
		{Key: "what", Model: &argv.AskModel{Prompt: argv.Expr{Param: "arg"}}},
	}
	return spec
}

func TestAsk(t *testing.T) {
	ws := open(t)
	tl, err := command.New(asking(), command.Deps{Workspace: ws})
	require.NoError(t, err)
	host := &asked{answers: map[string]tool.Answer{}}
	call := &tool.Call{Tool: "script", Params: json.RawMessage(`{"arg":"x"}`), Host: host}

	_, err = tl.Call(t.Context(), call)
	question, ok := errors.AsType[*tool.InputRequired](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, "who", question.Key)
	assert.JSONEq(t, `{"type":"object","properties":{"name":{"type":"string","maxLength":9}},"required":["name"]}`,
		string(question.Form.Schema))
	require.Len(t, question.Also, 1, "both questions at once")
	assert.Equal(t, &tool.SampleRequest{Prompt: "x"}, question.Also[0].Form.Sample)

	host.answers["who"] = accept(`{"name":"Jo"}`)
	_, err = tl.(tool.Commander).CommandLine(t.Context(), call)
	question, _ = errors.AsType[*tool.InputRequired](err)
	require.NotNil(t, question, "anyone who decides on the command sees the answers too")
	assert.Equal(t, "what", question.Key)
	assert.NoFileExists(t, filepath.Join(ws.Root(), "ran"))

	host.answers["what"] = accept(`{"text":"a name","model":"m"}`)
	result, err := tl.Call(t.Context(), call)
	require.NoError(t, err)
	assert.Equal(t, "x|Jo|a name", result.Text())

	for answer, code := range map[string]tool.Code{`{"name":"much too long"}`: tool.InvalidArgument,
		`{}`: tool.InvalidArgument, `{"name":"-rf"}`: tool.InvalidArgument} {
		host.answers["who"] = accept(answer)
		_, err = tl.Call(t.Context(), call)
		assert.Equal(t, code, tool.CodeOf(err), answer)
	}
	for _, action := range []string{"decline", "cancel"} {
		host.answers["who"] = tool.Answer{Action: action}
		_, err = tl.Call(t.Context(), call)
		assert.Equal(t, tool.Denied, tool.CodeOf(err), action)
	}
}

func TestOptionalQuestions(t *testing.T) {
	spec := asking()
	spec.Asks[0].Optional, spec.Asks[1].Optional = true, true
	tl, err := command.New(spec, command.Deps{Workspace: open(t)})
	require.NoError(t, err)
	for name, host := range map[string]*asked{
		"nobody there": {nobody: true},
		"declined":     {answers: map[string]tool.Answer{"who": {Action: "decline"}, "what": {Action: "cancel"}}},
	} {
		result, err := tl.Call(t.Context(),
			&tool.Call{Tool: "script", Params: json.RawMessage(`{"arg":"x"}`), Host: host})
		require.NoError(t, err, name)
		assert.Equal(t, "x||", result.Text(), name)
	}
	argv, err := tl.(tool.Commander).CommandLine(t.Context(), &tool.Call{Params: json.RawMessage(`{"arg":"x"}`)})
	require.NoError(t, err, "a call that is only looked at asks nothing")
	assert.Equal(t, []string{"sh", "-c", `touch ran; printf '%s|%s|%s' "$@"`, "sh", "x"}, argv)
}

func TestReportLines(t *testing.T) {
	spec := script(`echo ':progress 1/4 begun' >&2; echo plain >&2; echo ':progress 4/4' >&2; echo ':progress no' >&2
		echo ':log warn careful' >&2; echo ':log just text' >&2; echo ':other' >&2; echo ':progress 9/9'`, argv.Settings{Report: ":"})
	tl, err := command.New(spec, command.Deps{Workspace: open(t)})
	require.NoError(t, err)
	host := new(asked)
	result, err := tl.Call(t.Context(), &tool.Call{Params: json.RawMessage(`{}`), Host: host})
	require.NoError(t, err)
	assert.Equal(t, []tool.Progress{{Done: 1, Total: 4, Message: "begun"}, {Done: 4, Total: 4}}, host.progress)
	assert.Equal(t, []string{"WARN careful", "INFO just text"}, host.logs)
	assert.Equal(t, ":progress 9/9\nstderr:\nplain\n", result.Text(), "reports are no output; stdout holds none")
}

func TestRawSchema(t *testing.T) {
	raw := json.RawMessage(`{"type":"object","properties":{"deep":{"type":"object","properties":{"b":{},"a":{}}},` +
		`"n":{"type":"number"}},"required":["deep"]}`)
	spec := argv.Spec{
		Name: "raw", Raw: raw, Params: argv.SchemaParams(raw),
		Command: &argv.Template{Argv: []argv.Expr{{Literal: "sh"}, {Literal: "-c"}, {Literal: `printf '%s|' "$@"; cat`},
			{Literal: "sh"}, {Param: "deep"}, {Param: "n"}}, Stdin: &argv.Expr{All: true}},
	}
	tl, err := command.New(spec, command.Deps{Workspace: open(t)})
	require.NoError(t, err)
	assert.Equal(t, string(raw), string(tl.Definition().Parameters))
	result, err := tl.Call(t.Context(), &tool.Call{Params: json.RawMessage(`{"deep":{"b":1e2,"a":"<\u00e9>"}}`)})
	require.NoError(t, err)
	assert.Equal(t, `{"a":"<é>","b":1e2}|{"deep":{"a":"<é>","b":1e2}}`, result.Text())
}
