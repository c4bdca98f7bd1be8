package clemini_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// asks calls ask_user, answers the question, and returns the result.
func asks(t *testing.T, params args, answer string) map[string]any {
	t.Helper()
	b := newBench(t)
	b.asking = true
	_, err := b.try("ask_user", params)
	var question *tool.InputRequired
	require.True(t, errors.As(err, &question))
	assert.Contains(t, question.Form.Message, params["question"])
	assert.Contains(t, string(question.Form.Schema), `"answer"`)
	b.host.Answers = map[string]sdk.Answer{question.Key: {Action: "accept",
		Content: tool.MustMarshal(args{"answer": answer})}}
	return b.ok("ask_user", params)
}

func interactionCases() []provingCase {
	step := func(content, active, status string) args {
		return args{"content": content, "activeForm": active, "status": status}
	}
	return []provingCase{
		{"ask_user example 1; ask_user parameter question; ask_user result answer", func(t *testing.T) {
			assert.Equal(t, map[string]any{"answer": "pytest"},
				asks(t, args{"question": "What testing framework do you prefer?"}, "pytest"))
			assert.Equal(t, map[string]any{"answer": "2"}, asks(t, args{"question": "How many?"}, "2"))
		}},
		{"ask_user example 2; ask_user parameter options", func(t *testing.T) {
			question := args{"question": "Which database should we use?",
				"options": []string{"PostgreSQL", "MySQL", "SQLite"}}
			for answer, chosen := range map[string]string{"1": "PostgreSQL", " 3 ": "SQLite", "MySQL": "MySQL",
				"4": "4", "0": "0", "none": "none"} {
				assert.Equal(t, map[string]any{"answer": chosen}, asks(t, question, answer), answer)
			}
		}},
		{"ask_user example 3", func(t *testing.T) {
			assert.Equal(t, map[string]any{"answer": "Yes"},
				asks(t, args{"question": "Should I proceed?", "options": []string{"Yes", "No"}}, "1"))
		}},
		{"ask_user example 4", func(t *testing.T) {
			question := args{"question": "Which port?", "options": []string{"3000", "8080"}}
			assert.Equal(t, map[string]any{"answer": "9000"}, asks(t, question, "9000"))
			assert.Equal(t, map[string]any{"answer": "1"},
				asks(t, args{"question": "How many?", "options": []string{"2", "1"}}, "1"),
				"an option stands for itself")
		}},
		{"todo_write example 1; todo_write parameter todos; todo_write result success; todo_write result count",
			func(t *testing.T) {
				b := newBench(t)
				list := []args{step("Read the existing code", "Reading the existing code", "in_progress"),
					step("Write unit tests", "Writing unit tests", "pending"),
					step("Implement the feature", "Implementing the feature", "pending")}
				b.gives(`{"success":true,"count":3}`, "todo_write", args{"todos": list})
				kept, found, err := b.host.State(tool.SessionScope).Get(t.Context(), "todos")
				require.NoError(t, err)
				require.True(t, found)
				assert.JSONEq(t, string(tool.MustMarshal(list)), string(kept))
			}},
		{"todo_write example 2", func(t *testing.T) {
			b := newBench(t)
			b.gives(`{"success":true,"count":3}`, "todo_write",
				args{"todos": []args{step("a", "b", "completed"), step("c", "d", "in_progress"),
					step("e", "f", "in_progress")}})
			for _, broken := range []args{step("", "b", "pending"), step("a", "  ", "pending"), step("a", "b", "done"),
				{"content": "a", "status": "pending"}} {
				b.fails("INVALID_ARGUMENT", "", "todo_write", args{"todos": []args{broken}})
			}
			kept, _, err := b.host.State(tool.SessionScope).Get(t.Context(), "todos")
			require.NoError(t, err)
			var list []args
			require.NoError(t, json.Unmarshal(kept, &list))
			assert.Len(t, list, 3, "a refused list leaves the old one")
		}},
		{"todo_write example 3", func(t *testing.T) {
			b := newBench(t)
			b.gives(`{"success":true,"count":1}`, "todo_write", args{"todos": []args{step("a", "b", "completed")}})
			b.gives(`{"success":true,"count":0}`, "todo_write", args{"todos": []args{}})
		}},
	}
}

func TestAskUserWithoutAnAnswer(t *testing.T) {
	b := newBench(t)
	got := b.fails("IO_ERROR", "", "ask_user", args{"question": "Who?"})
	assert.Contains(t, got["error"], "cannot be asked")
	b.asking = true
	for _, action := range []string{"decline", "cancel"} {
		b.host.Answers = map[string]sdk.Answer{"answer": {Action: action}}
		b.fails("IO_ERROR", "The user did not answer", "ask_user", args{"question": "Who?"})
	}
	b.host.Answers = map[string]sdk.Answer{"answer": {Action: "accept"}}
	b.fails("INVALID_ARGUMENT", "", "ask_user", args{"question": "Who?"})
}

func TestTodoWriteNamesTheFieldThatIsEmpty(t *testing.T) {
	b := newBench(t)
	for range 20 {
		object := b.fails("INVALID_ARGUMENT", "todos[1].content is empty", "todo_write", args{"todos": []args{
			{"content": "a", "activeForm": "b", "status": "pending"},
			{"content": " ", "activeForm": "", "status": "pending"},
		}})
		assert.Equal(t, "todos[1].content", object["context"].(map[string]any)["path"])
	}
}
