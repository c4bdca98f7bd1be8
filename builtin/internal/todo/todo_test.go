package todo_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/builtin/internal/todo"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

type session struct {
	tool.Services
	values map[string][]byte
}

func (s *session) State(scope tool.Scope) tool.State {
	if scope != tool.SessionScope {
		panic("todos belong to the session")
	}
	return memory{s.values, nil}
}

type memory struct {
	values map[string][]byte
	tool.State
}

func (m memory) Get(_ context.Context, key string) ([]byte, bool, error) {
	v, ok := m.values[key]
	return v, ok, nil
}

func (m memory) Set(_ context.Context, key string, value []byte) error {
	m.values[key] = value
	return nil
}

func newSession() *session { return &session{values: map[string][]byte{}} }

// call calls a tool as the host does: normalize, validate, run.
func (s *session) call(t *testing.T, name, params string) (map[string]string, error) {
	t.Helper()
	tl := find(t, name)
	raw := json.RawMessage(params)
	if n, ok := tl.(tool.Normalizer); ok {
		raw = n.Normalize(raw)
	}
	sch, err := schema.Compile(tl.Definition().Parameters)
	require.NoError(t, err)
	raw, _, violations := sch.Decode(raw)
	require.Empty(t, violations)
	result, err := tl.Call(t.Context(), &tool.Call{Tool: name, Params: raw, Host: s})
	if err != nil {
		return nil, err
	}
	var object map[string]string
	require.NoError(t, json.Unmarshal(result.Structured, &object))
	assert.JSONEq(t, result.Text(), string(result.Structured))
	return object, nil
}

func find(t *testing.T, name string) tool.Tool {
	for _, tl := range todo.Tools() {
		if tl.Definition().Name == name {
			return tl
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func list(todos string) string {
	return string(tool.MustMarshal(map[string]string{"todos_json": todos}))
}

const contractExample = `
[
  {"id": "task-1", "content": "Implement feature X", "status": "in_progress", "priority": "high"}
]
`

func TestWriteContractExample(t *testing.T) {
	s := newSession()
	got, err := s.call(t, "todowrite", list(contractExample))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"output": "Successfully updated 1 todos",
		"title":  "Updated todo list with 1 active todos",
	}, got)

	got, err = s.call(t, "todoread", `{}`)
	require.NoError(t, err)
	assert.Equal(t, "1 todos", got["title"])
	assert.Equal(t, `[{"id":"task-1","content":"Implement feature X","status":"in_progress","priority":"high"}]`,
		got["output"])
}

func TestReadWithoutAList(t *testing.T) {
	got, err := newSession().call(t, "todoread", `{}`)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"title": "0 todos", "output": "[]"}, got)
}

func TestActiveCountsPendingAndInProgress(t *testing.T) {
	s := newSession()
	got, err := s.call(t, "todowrite", list(`[
		{"id":"a","content":"a","status":"pending","priority":"low"},
		{"id":"b","content":"b","status":"in_progress","priority":"medium"},
		{"id":"c","content":"c","status":"completed","priority":"high"},
		{"id":"d","content":"d","status":"cancelled","priority":"high"}]`))
	require.NoError(t, err)
	assert.Equal(t, "Successfully updated 4 todos", got["output"])
	assert.Equal(t, "Updated todo list with 2 active todos", got["title"])
	got, err = s.call(t, "todoread", `{}`)
	require.NoError(t, err)
	assert.Equal(t, "2 todos", got["title"])
}

func TestArrayIsAcceptedToo(t *testing.T) {
	s := newSession()
	_, err := s.call(t, "todowrite",
		`{"todos_json": [{"id":"a","content":"<é> & \u2028","status":"pending","priority":"low"}]}`)
	require.NoError(t, err)
	got, err := s.call(t, "todoread", `{}`)
	require.NoError(t, err)
	var todos []todo.Todo
	require.NoError(t, json.Unmarshal([]byte(got["output"]), &todos))
	assert.Equal(t, "<é> & \u2028", todos[0].Content)
}

func TestNormalizeLeavesOtherFormsAlone(t *testing.T) {
	n := find(t, "todowrite").(tool.Normalizer)
	for _, params := range []string{`{"todos_json":"[]"}`, `{"todos_json":3}`, `{}`, `[]`, `nonsense`,
		`{"todos_json":{"a":1}}`} {
		assert.Equal(t, params, string(n.Normalize(json.RawMessage(params))))
	}
}

func TestIDs(t *testing.T) {
	item := func(id string) string { return `{` + id + `"content":"c","status":"pending","priority":"low"}` }
	for _, c := range []struct {
		name, list string
		want       []todo.ID
	}{
		{"missing", `[` + item(``) + `,` + item(`"id":"",`) + `,` + item(`"id":"  ",`) + `]`,
			[]todo.ID{"task-1", "task-2", "task-3"}},
		{"missing beside taken", `[` + item(``) + `,` + item(`"id":"task-1",`) + `]`, []todo.ID{"task-2", "task-1"}},
		{"null", `[` + item(`"id":null,`) + `]`, []todo.ID{"task-1"}},
		{"number", `[` + item(`"id":7,`) + `]`, []todo.ID{"7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSession()
			_, err := s.call(t, "todowrite", list(c.list))
			require.NoError(t, err)
			got, err := s.call(t, "todoread", `{}`)
			require.NoError(t, err)
			var todos []todo.Todo
			require.NoError(t, json.Unmarshal([]byte(got["output"]), &todos))
			var ids []todo.ID
			for _, item := range todos {
				ids = append(ids, item.ID)
			}
			assert.Equal(t, c.want, ids)
		})
	}
}

func TestRefusedListsLeaveTheOldOne(t *testing.T) {
	good := `{"id":"g","content":"c","status":"in_progress","priority":"low"}`
	for _, c := range []struct{ name, list, want string }{
		{"status", `[` + good + `,{"id":"x","content":"c","status":"done","priority":"low"}]`,
			"invalid status 'done' for todo 2. Must be one of: pending, in_progress, completed, cancelled"},
		{"no status", `[{"id":"x","content":"c","priority":"low"}]`,
			"invalid status '' for todo 1. Must be one of: pending, in_progress, completed, cancelled"},
		{"priority", `[{"id":"x","content":"c","status":"pending","priority":"urgent"}]`,
			"invalid priority 'urgent' for todo 1. Must be one of: high, medium, low"},
		{"content", `[{"id":"x","content":" \n","status":"pending","priority":"low"}]`,
			"todo content cannot be empty for todo 1"},
		{"two in progress", `[` + good + `,{"id":"x","content":"c","status":"in_progress","priority":"low"}]`,
			"only one todo can be in_progress at a time, found 2"},
		{"duplicate id", `[` + good + `,{"id":"g","content":"c","status":"pending","priority":"low"}]`,
			"duplicate id 'g' for todo 2: todo 1 has it already"},
		{"empty string", ``, "todos_json is not a JSON array of todos: it does not begin with '['"},
		{"object", `{"a":1}`, "todos_json is not a JSON array of todos: it does not begin with '['"},
		{"null", `null`, "todos_json is not a JSON array of todos: it does not begin with '['"},
		{"cut off", `[` + good, "todos_json is not a JSON array of todos: the text ends before the array does"},
		{"trailing", `[] []`,
			"todos_json is not a JSON array of todos: there is more text after the array, from byte 4 on"},
		{"no objects", `["a"]`, "todos_json is not a JSON array of todos: a todo is an object, found a string"},
		{"wrong type", `[{"content":5}]`,
			"todos_json is not a JSON array of todos: the field content is a string, found a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSession()
			_, err := s.call(t, "todowrite", list(contractExample))
			require.NoError(t, err)
			before, err := s.call(t, "todoread", `{}`)
			require.NoError(t, err)

			_, err = s.call(t, "todowrite", list(c.list))
			require.Error(t, err)
			assert.Equal(t, c.want, err.Error())
			assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
			assert.NotEmpty(t, tool.AsError(err).Suggestion)

			after, err := s.call(t, "todoread", `{}`)
			require.NoError(t, err)
			assert.Equal(t, before, after)
		})
	}
}

func TestEmptyListReplaces(t *testing.T) {
	s := newSession()
	_, err := s.call(t, "todowrite", list(contractExample))
	require.NoError(t, err)
	got, err := s.call(t, "todowrite", list(`[]`))
	require.NoError(t, err)
	assert.Equal(t, "Successfully updated 0 todos", got["output"])
	got, err = s.call(t, "todoread", `{}`)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"title": "0 todos", "output": "[]"}, got)
}

func TestSessionsAreApart(t *testing.T) {
	one, two := newSession(), newSession()
	_, err := one.call(t, "todowrite", list(contractExample))
	require.NoError(t, err)
	got, err := two.call(t, "todoread", `{}`)
	require.NoError(t, err)
	assert.Equal(t, "[]", got["output"])
}

func TestWithoutAHost(t *testing.T) {
	for _, tl := range todo.Tools() {
		_, err := tl.Call(t.Context(), &tool.Call{Params: json.RawMessage(`{"todos_json":"[]"}`)})
		assert.Equal(t, tool.Unavailable, tool.CodeOf(err), tl.Definition().Name)
	}
}

func TestDefinitions(t *testing.T) {
	want := map[string]tool.Risk{"todowrite": tool.SafeWrite, "todoread": tool.ReadOnly}
	require.Len(t, todo.Tools(), len(want))
	for _, tl := range todo.Tools() {
		d := tl.Definition()
		assert.Equal(t, want[d.Name], d.Risk)
		assert.True(t, d.Idempotent)
		assert.Contains(t, d.Description, "Returns:")
		sch, err := schema.Compile(d.Parameters)
		require.NoError(t, err)
		_, err = schema.Compile(d.Returns)
		require.NoError(t, err)
		for _, e := range d.Examples {
			_, _, violations := sch.Decode(e.Params)
			assert.Empty(t, violations)
		}
	}
}
