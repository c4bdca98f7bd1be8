package ocode

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host/tool"
)

// aliases are the parameter names of the contract's version 1.x.
type aliases []alias

// alias is one old name. If it is empty, convert may add new.
type alias struct {
	old, new string
	// convert returns the new value from the old one and all parameters; nil keeps it. False
	// leaves the parameter alone.
	convert func(old json.RawMessage, all map[string]json.RawMessage) (json.RawMessage, bool)
}

func oldNames() map[string]aliases {
	return map[string]aliases{
		"file_read": {
			{"limit", "end_line", endOfLimit},
			{"offset", "start_line", firstLine},
			{"file_path", "path", nil},
		},
		"file_write": {{"file_path", "path", nil}},
		"file_edit": {
			{"file_path", "path", nil},
			{"search_pattern", "old_text", nil}, {"old_string", "old_text", nil},
			{"replacement", "new_text", nil}, {"new_string", "new_text", nil},
		},
		"file_ops": {{"path", "source", nil}, {"src", "source", nil}, {"dest", "destination", nil},
			{"dst", "destination", nil}},
		"grep":         {{"case_sensitive", "ignore_case", negated}},
		"diff":         {{"file1", "source1", nil}, {"file2", "source2", nil}},
		"bash":         {{"env_vars", "env", nil}, {"cwd", "working_dir", nil}},
		"test_runner":  {{"pattern", "path", nil}, {"test_path", "path", nil}},
		"think":        {{"topic", "task", nil}, {"thinking_type", "approach", oldThinking}},
		"memory_write": {{"", "value", nothingToStore}},
		"json_yaml":    {{"source", "input", nil}, {"pretty", "output_format", prettyOutput}},
		"mcp": {
			{"server_name", "server", nil}, {"tool_name", "method", nil}, {"resource_uri", "method", nil},
			{"tool_arguments", "params", nil},
		},
		"agent": {{"task_description", "task", nil}},
	}
}

// rename notes that a parameter had its old name.
type rename struct {
	Old string `json:"old"`
	New string `json:"new"`
	// Note says what to do.
	Note string `json:"note"`
}

// renamedKey carries the renames past the schema, from Normalize to Call.
const renamedKey = "__renamed"

// normalize renames parameters to their present names, which win if both are given.
func (a aliases) normalize(params json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if len(a) == 0 || json.Unmarshal(params, &all) != nil {
		return params
	}
	var renamed []rename
	for _, one := range a {
		if one.apply(all) && one.old != "" {
			renamed = append(renamed,
				rename{one.old, one.new, fmt.Sprintf("%s is the name of version 1.x; use %s.", one.old, one.new)})
		}
	}
	if renamed != nil {
		all[renamedKey] = tool.MustMarshal(renamed)
	}
	return tool.MustMarshal(all)
}

func (a alias) apply(all map[string]json.RawMessage) bool {
	value, given := all[a.old]
	if _, taken := all[a.new]; taken || !given && a.old != "" {
		return false
	}
	if a.convert != nil {
		var ok bool
		if value, ok = a.convert(value, all); !ok {
			return false
		}
	}
	delete(all, a.old)
	all[a.new] = value
	return true
}

// separate removes normalize's notes from the parameters.
func separate(params json.RawMessage) (json.RawMessage, []rename) {
	if !bytes.Contains(params, []byte(renamedKey)) {
		return params, nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(params, &all) != nil || all[renamedKey] == nil {
		return params, nil
	}
	var renamed []rename
	if json.Unmarshal(all[renamedKey], &renamed) != nil {
		return params, nil
	}
	delete(all, renamedKey)
	return tool.MustMarshal(all), renamed
}
