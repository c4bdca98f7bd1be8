package taskfile

import (
	"context"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/taskprotocol"
)

// taskTool is the passthrough task.
type taskTool struct{ taskfile *Taskfile }

func (k *taskTool) Definition() *tool.Definition {
	return k.taskfile.definition("task", k.taskfile.options.Timeout+stopTime)
}

func (k *taskTool) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	words, names, err := k.read(ctx, call)
	if err != nil {
		return nil, err
	}
	done, err := k.taskfile.run(ctx, call, words...)
	if err != nil {
		return nil, err
	}
	return k.result(strings.Join(names, " "), done)
}

// read returns the call's words, and the task names among them.
func (k *taskTool) read(ctx context.Context, call *tool.Call) (words, names []string, err error) {
	var params struct {
		Args string `json:"args"`
	}
	if err := call.Decode(&params); err != nil {
		return nil, nil, err
	}
	if words, err = k.taskfile.words(ctx, params.Args); err != nil {
		return nil, nil, err
	}
	names, err = checkTaskArgs(words)
	return words, names, err
}

// result returns stdout, with stderr under a heading if there is any.
func (k *taskTool) result(name string, done *finished) (*tool.Result, error) {
	failure := k.taskfile.failure(name, done)
	switch done.report.Kind {
	case protocol.NotFound, protocol.NoTaskfile, protocol.Broken, protocol.Refused:
		if !done.TimedOut && !done.Cancelled {
			return nil, failure
		}
	}
	if failure != nil {
		return k.taskfile.result(name, done)
	}
	text := done.Stdout.String()
	if stderr := done.Stderr.String(); stderr != "" {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += "\nstderr:\n" + stderr
	}
	for _, note := range done.report.Notes {
		text += "\nNote: " + note + "\n"
	}
	result := tool.Text(strings.TrimPrefix(text, "\n"))
	result.Artifacts = done.artifacts(k.taskfile)
	result.Truncated, result.Metadata = done.Stdout.Truncated() || done.Stderr.Truncated(), done.metadata
	return result, nil
}

// taskOptions are the allowed options of task: for what is shown and how tasks run. Others would lead
// to another Taskfile, the network, or an endless run.
var taskOptions = [...]string{
	"--list", "--list-all", "--json", "--force", "--dry", "--parallel", "--silent", "--verbose", "--failfast",
	"--summary", "--status",
}

// taskLetters are the short forms.
const taskLetters = "lajfnpsvF"

// checkTaskArgs returns the task names, and refuses words other than names, harmless variables and
// allowed options.
func checkTaskArgs(words []string) (names []string, err error) {
	for _, word := range words {
		name, value, isVariable := strings.Cut(word, "=")
		switch {
		case word == "--":
			return withDefault(names), nil
		case strings.HasPrefix(word, "-"):
			if !isTaskOption(word) {
				return nil, tool.Errorf(tool.InvalidArgument, "the option %s of task is not offered", word).
					Suggest("Offered are -%s, %s. Arguments for a task's commands stand behind --.", taskLetters,
						strings.Join(taskOptions[:], ", "))
			}
		case isVariable:
			if err := checkVariable(name, value); err != nil {
				return nil, err
			}
		default:
			names = append(names, word)
		}
	}
	return withDefault(names), nil
}

func withDefault(names []string) []string {
	if len(names) == 0 {
		return []string{"default"}
	}
	return names
}

func isTaskOption(word string) bool {
	for _, option := range taskOptions {
		if word == option {
			return true
		}
	}
	letters, short := strings.CutPrefix(word, "-")
	return short && letters != "" && strings.Trim(letters, taskLetters) == ""
}

// checkVariable allows values that a shell does not interpret: a Taskfile inserts variables into
// command lines unchanged.
func checkVariable(name, value string) error {
	if name == "" || strings.ContainsFunc(name, notInVariable) || strings.HasPrefix(strings.ToUpper(name), "CLI_") {
		return tool.Errorf(tool.InvalidArgument, "%q is not a variable that can be set", name).
			Suggest("Variable names have letters, digits and '_'; those beginning with CLI_ are task's own.")
	}
	if strings.ContainsFunc(value, notInValue) {
		return tool.Errorf(tool.InvalidArgument, "the value of %s has characters that a shell would take for its own",
			name).
			Suggest("Use letters, digits and any of %s in values, or give the text as an argument behind --, which is quoted.", valueMarks)
	}
	return nil
}

const valueMarks = "_./:@%+,=-"

func notInVariable(c rune) bool { return c != '_' && !isAlphanumeric(c) }

func notInValue(c rune) bool { return !isAlphanumeric(c) && !strings.ContainsRune(valueMarks, c) }

func isAlphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
