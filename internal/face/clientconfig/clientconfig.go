// Package clientconfig edits an MCP server's entry in clients' configuration files. Every other byte
// stays: comments, order, indentation, line ends. A file that the client could not read is left alone.
package clientconfig

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// Server is an MCP server that a client starts.
type Server struct {
	// Name is the server's name in the client.
	Name string
	// Command and Args are the program and its arguments.
	Command string
	Args    []string
	// Env names the environment variables that the server needs, for clients that do not pass on their
	// environment.
	Env []string
}

// field is a value of an entry. An initial one, such as whether the server is on, is not changed once
// present; a shared one is a list that others may extend.
type field struct {
	key     string
	value   any // string, bool, int64, []string or members
	initial bool
	shared  bool
	under   []string // keys of the mappings in the entry that hold it
}

// members are the fields of a mapping, in order.
type members []field

// flat returns the fields of an entry, including those of its mappings.
func flat(fields []field, under ...string) (all []field) {
	for _, f := range fields {
		if inner, ok := f.value.(members); ok {
			all = append(all, flat(inner, append(under[:len(under):len(under)], f.key)...)...)
			continue
		}
		f.under = under
		all = append(all, f)
	}
	return all
}

// path returns the field's path within the entry.
func (f field) path() []string { return append(f.under[:len(f.under):len(f.under)], f.key) }

// over returns the field's value for an entry whose current value is old.
func (f field) over(old any) any {
	list, ok := f.value.([]string)
	if !ok || !f.shared {
		return f.value
	}
	var merged []string
	theirs, _ := old.([]any)
	for _, item := range theirs {
		merged = append(merged, fmt.Sprint(item))
	}
	for _, item := range list {
		if !slices.Contains(merged, item) {
			merged = append(merged, item)
		}
	}
	return merged
}

// format reads and edits a configuration language.
type format interface {
	// decode returns the file's data. Errors name the line.
	decode(text []byte) (any, error)
	// set returns text with the entry's fields set. path is the keys from the root to the entry.
	set(text []byte, path []string, fields []field) ([]byte, error)
	// remove returns text without the entry at path, which must exist.
	remove(text []byte, path []string) ([]byte, error)
}

// Change is a change of a file.
type Change struct {
	// File is its path.
	File string
	// Before and After are the contents. Before is nil if there is no file, After nil to remove it.
	Before, After []byte
	// Existed reports whether there was an entry of that name.
	Existed bool
}

// Changed reports whether Before and After differ.
func (c *Change) Changed() bool { return string(c.Before) != string(c.After) }

// Install returns the change that adds or repairs the server's entry. It writes nothing. The error
// is a *tool.Error.
func (c *Client) Install(file string, before []byte, s Server) (*Change, error) {
	change, data, err := c.read(file, before)
	if err != nil {
		return nil, err
	}
	path, fields := c.path(data, s.Name), c.fields(data, s)
	if c.env != nil && len(s.Env) > 0 {
		fields = append(fields, c.env(s.Env))
	}
	old, existed := at(data, path)
	change.Existed = existed
	if c.Printed() && len(before) > 0 {
		return nil, c.refuse(file, errNoYAML)
	}
	checked := flat(fields)
	if existed {
		fields = repairs(old, checked)
		checked = fields
	}
	if existed && len(fields) == 0 {
		return change, nil
	}
	if change.After, err = c.format.set(c.initialText(before), path, fields); err != nil {
		return nil, c.refuse(file, err)
	}
	return change, c.verify(change, path, func(entry any, found bool) bool {
		return found && !slices.ContainsFunc(checked, func(f field) bool { return !same(member(entry, f), f.value) })
	})
}

// initialText returns the text to which the first entry is added.
func (c *Client) initialText(text []byte) []byte {
	if len(text) == 0 {
		return []byte(c.fresh)
	}
	return text
}

// repairs returns the fields that differ from what the entry should have.
func repairs(entry any, fields []field) (wrong []field) {
	for _, f := range fields {
		have := member(entry, f)
		f.value = f.over(have)
		if f.initial && have == nil && len(f.under) > 0 { // one of many, such as a variable
			wrong = append(wrong, f)
		} else if !f.initial && !same(have, f.value) {
			wrong = append(wrong, f)
		}
	}
	return wrong
}

// Uninstall returns the change that removes the entry, and mappings left empty unless they were empty
// in original, the file before any install (nil for no file). A file left empty is removed unless
// original held more. It writes nothing. The error is a *tool.Error.
func (c *Client) Uninstall(file string, before, original []byte, name string) (*Change, error) {
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
	if err := c.prune(change, path, original); err != nil {
		return nil, c.refuse(file, err)
	}
	err = c.verify(change, path, func(_ any, found bool) bool { return !found })
	if err == nil && empty(change.After) && (original == nil || c.only(original, path)) {
		change.After = nil
	}
	return change, err
}

// only reports whether a file has nothing but the entry at path.
func (c *Client) only(text []byte, path []string) bool {
	data, err := c.format.decode(text)
	_, there := at(data, path)
	left, isMapping := without(data, path).(map[string]any)
	return err == nil && there && isMapping && len(left) == 0
}

// empty reports whether a file holds nothing, not even a comment.
func empty(text []byte) bool {
	left := strings.Join(strings.Fields(string(text)), "")
	return left == "" || left == "{}"
}

// prune removes empty mappings on the way to an entry.
func (c *Client) prune(change *Change, path []string, original []byte) error {
	was, err := c.format.decode(original)
	if err != nil {
		was = nil
	}
	_, had := at(was, path)
	for i := len(path) - 1; i > 0; i-- {
		is, err := c.format.decode(change.After)
		if err != nil {
			return err
		}
		holder, there := at(is, path[:i])
		if inner, ok := holder.(map[string]any); there && (!ok && holder != nil || len(inner) > 0) {
			return nil
		}
		if _, theirs := at(was, path[:i]); !there || theirs && !had {
			return nil
		}
		if change.After, err = c.format.remove(change.After, path[:i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) read(file string, before []byte) (*Change, any, error) {
	data, err := c.format.decode(before)
	if err != nil {
		return nil, nil, tool.Errorf(tool.InvalidArgument, "%s cannot be read: %w", file, err).
			Suggest("Fix the file; nothing was changed.")
	}
	return &Change{File: file, Before: before, After: before}, data, nil
}

// refuse returns the error for a valid file that cannot be edited.
func (c *Client) refuse(file string, err error) *tool.Error {
	return tool.Errorf(tool.Unsupported, "%s cannot be edited: %w", file, err).
		Suggest("Nothing was changed. Edit the file by hand; toolhost install %s --print shows the entry.", c.ID)
}

// verify checks that only the entry has changed in meaning.
func (c *Client) verify(change *Change, path []string, entryIsRight func(entry any, found bool) bool) error {
	was, err := c.format.decode(c.initialText(change.Before))
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

func member(entry any, f field) any {
	value, _ := at(entry, f.path())
	return value
}

func same(have, want any) bool { return fmt.Sprint(have) == fmt.Sprint(want) }

// without copies data, leaving out the value at path and mappings left empty.
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
