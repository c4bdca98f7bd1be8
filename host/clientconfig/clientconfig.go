// Package clientconfig writes the entry of an MCP server into the
// configuration files of MCP clients. Every other byte of a file stays as it
// is: comments, order, indentation, line ends. A file that the client could
// not read is left alone.
package clientconfig

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
)

// Server is the server that a client is to start.
type Server struct {
	// Name is the server's name in the client.
	Name string
	// Command and Args are the program and its arguments.
	Command string
	Args    []string
}

// field is one value of an entry. Those that are not ours to change once they
// are there, such as whether the server is switched on, are initial.
type field struct {
	key     string
	value   any // string, bool, int64 or []string
	initial bool
}

// format is a language of configuration files.
type format interface {
	// decode gives the file as data. Its error names the line.
	decode(text []byte) (any, error)
	// set gives text with the fields of the entry at path set. Path names the
	// mappings from the root on and ends with the entry's name.
	set(text []byte, path []string, fields []field) ([]byte, error)
	// remove gives text without the entry at path, which exists.
	remove(text []byte, path []string) ([]byte, error)
}

// Change is what is to become of a file.
type Change struct {
	// File is the path of the file.
	File string
	// Before and After are its contents. Before is nil when there is no file.
	Before, After []byte
	// Existed is true when there was an entry of that name.
	Existed bool
}

// Changed reports whether there is anything to do.
func (c *Change) Changed() bool { return string(c.Before) != string(c.After) }

// Install works out the change that gives the client the server: a new entry,
// or an old one repaired. Nothing is written. The error is a *tool.Error.
func (c *Client) Install(file string, before []byte, s Server) (*Change, error) {
	change, data, err := c.read(file, before)
	if err != nil {
		return nil, err
	}
	path, fields := c.path(data, s.Name), c.fields(data, s)
	old, existed := at(data, path)
	change.Existed = existed
	if existed {
		fields = slices.DeleteFunc(fields, func(f field) bool { return f.initial || same(member(old, f.key), f.value) })
	}
	if existed && len(fields) == 0 {
		return change, nil
	}
	if change.After, err = c.format.set(before, path, fields); err != nil {
		return nil, c.refuse(file, err)
	}
	return change, c.verify(change, path, func(entry any, found bool) bool {
		return found && !slices.ContainsFunc(fields, func(f field) bool { return !same(member(entry, f.key), f.value) })
	})
}

// Uninstall works out the change that takes the entry of that name out.
// Nothing is written. The error is a *tool.Error.
func (c *Client) Uninstall(file string, before []byte, name string) (*Change, error) {
	change, data, err := c.read(file, before)
	if err != nil {
		return nil, err
	}
	path := c.path(data, name)
	if _, change.Existed = at(data, path); !change.Existed {
		return change, nil
	}
	if change.After, err = c.format.remove(before, path); err != nil {
		return nil, c.refuse(file, err)
	}
	return change, c.verify(change, path, func(_ any, found bool) bool { return !found })
}

// read decodes the file as it is.
func (c *Client) read(file string, before []byte) (*Change, any, error) {
	data, err := c.format.decode(before)
	if err != nil {
		return nil, nil, tool.Errorf(tool.InvalidArgument, "%s cannot be read: %w", file, err).
			Suggest("Mend the file; nothing was changed.")
	}
	return &Change{File: file, Before: before, After: before}, data, nil
}

// refuse is the error for a file that is in order but not to be edited.
func (c *Client) refuse(file string, err error) *tool.Error {
	return tool.Errorf(tool.Unsupported, "%s cannot be edited: %w", file, err).
		Suggest("Nothing was changed. Write the entry by hand; --print shows it.")
}

// verify makes sure that nothing but the entry has changed in meaning.
func (c *Client) verify(change *Change, path []string, entryIsRight func(entry any, found bool) bool) error {
	was, err := c.format.decode(change.Before)
	if err != nil {
		return err
	}
	is, err := c.format.decode(change.After)
	if err == nil {
		entry, found := at(is, path)
		if entryIsRight(entry, found) && reflect.DeepEqual(without(was, path), without(is, path)) {
			return nil
		}
	}
	return tool.Errorf(tool.Internal, "the edit of %s would not come out right", change.File).
		Suggest("Nothing was changed. Write the entry by hand; --print shows it.")
}

// at finds the value at path.
func at(data any, path []string) (any, bool) {
	for _, key := range path {
		mapping, ok := data.(map[string]any)
		if !ok {
			return nil, false
		}
		if data, ok = mapping[key]; !ok {
			return nil, false
		}
	}
	return data, true
}

func member(data any, key string) any {
	value, _ := at(data, []string{key})
	return value
}

// same compares what a file holds with what it should.
func same(have, want any) bool { return fmt.Sprint(have) == fmt.Sprint(want) }

// without copies data without the value at path, and without the mappings on
// the way that hold nothing else.
func without(data any, path []string) any {
	mapping, ok := data.(map[string]any)
	if !ok || len(path) == 0 {
		return data
	}
	left := make(map[string]any)
	for key, value := range mapping {
		if key == path[0] {
			if len(path) == 1 {
				continue
			}
			value = without(value, path[1:])
			if inner, ok := value.(map[string]any); value == nil || ok && len(inner) == 0 {
				continue
			}
		}
		left[key] = value
	}
	return left
}
