package todo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// Todo is one item of the list.
type Todo struct {
	ID       ID     `json:"id"`
	Content  string `json:"content"`
	Status   string `json:"status"`
	Priority string `json:"priority"`
}

// ID identifies a todo in a list.
type ID string

// UnmarshalJSON accepts a string, or a number, as models often write it.
func (id *ID) UnmarshalJSON(data []byte) error {
	var number json.Number
	if data[0] != '"' && json.Unmarshal(data, &number) == nil {
		*id = ID(number)
		return nil
	}
	return json.Unmarshal(data, (*string)(id))
}

func parse(text string) ([]Todo, error) {
	todos, err := decode(text)
	if err != nil {
		return nil, err
	}
	running := 0
	for i, t := range todos {
		if err := t.check(i + 1); err != nil {
			return nil, err
		}
		if t.Status == "in_progress" {
			running++
		}
	}
	if running > 1 {
		return nil, tool.Errorf(tool.InvalidArgument, "only one todo can be in_progress at a time, found %d", running).
			Suggest("Set the others to pending until their turn comes, and write the whole list again.")
	}
	return todos, identify(todos)
}

func decode(text string) ([]Todo, error) {
	if !strings.HasPrefix(strings.TrimSpace(text), "[") {
		return nil, malformed("it does not begin with '['")
	}
	todos := []Todo{}
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&todos); err != nil {
		return nil, malformed(reason(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed(fmt.Sprintf("there is more text after the array, from byte %d on", dec.InputOffset()))
	}
	return todos, nil
}

func malformed(why string) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "todos_json is not a JSON array of todos: %s", why).
		Suggest(`Give an array such as [{"id":"task-1","content":"...","status":"pending","priority":"medium"}], or [] to empty the list.`)
}

// reason returns what is wrong with the JSON, without Go's type names.
func reason(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if wrong.Field == "" {
			return fmt.Sprintf("a todo is an object, found a %s", wrong.Value)
		}
		return fmt.Sprintf("the field %s is a string, found a %s", wrong.Field, wrong.Value)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the text ends before the array does"
	}
	return err.Error()
}

func (t Todo) check(number int) error {
	switch {
	case !slices.Contains([]string{"pending", "in_progress", "completed", "cancelled"}, t.Status):
		return refused("invalid status '%s' for todo %d. Must be one of: pending, in_progress, completed, cancelled",
			t.Status, number)
	case !slices.Contains([]string{"high", "medium", "low"}, t.Priority):
		return refused("invalid priority '%s' for todo %d. Must be one of: high, medium, low", t.Priority, number)
	case strings.TrimSpace(t.Content) == "":
		return refused("todo content cannot be empty for todo %d", number)
	}
	return nil
}

func refused(format string, args ...any) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, format, args...).
		Suggest("Correct that todo and write the whole list again. The old list is unchanged.")
}

// identify gives todos without an id the form task-N, by position or the next free
// number, and refuses duplicates.
func identify(todos []Todo) error {
	taken := make(map[ID]int, len(todos))
	for i, t := range todos {
		if strings.TrimSpace(string(t.ID)) == "" {
			continue
		}
		if first, ok := taken[t.ID]; ok {
			return refused("duplicate id '%s' for todo %d: todo %d has it already", t.ID, i+1, first)
		}
		taken[t.ID] = i + 1
	}
	for i := range todos {
		if strings.TrimSpace(string(todos[i].ID)) == "" {
			todos[i].ID = free(taken, i+1)
			taken[todos[i].ID] = i + 1
		}
	}
	return nil
}

func free(taken map[ID]int, number int) ID {
	for ; ; number++ {
		id := ID("task-" + strconv.Itoa(number))
		if _, ok := taken[id]; !ok {
			return id
		}
	}
}

// active counts unfinished todos.
func active(todos []Todo) int {
	n := 0
	for _, t := range todos {
		if t.Status == "pending" || t.Status == "in_progress" {
			n++
		}
	}
	return n
}
