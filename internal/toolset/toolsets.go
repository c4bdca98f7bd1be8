// Package toolset describes toolhost's toolsets without their code: each has a folder here with a
// toolset.json. Package project lists the code.
package toolset

import (
	"bytes"
	"embed"
	"encoding/json"
	"path"
	"slices"
	"sync"
)

//go:embed */toolset.json
var folders embed.FS

// Toolset is one that is part of toolhost.
type Toolset struct {
	Name string `json:"-"`
	// Plugin is set if a shipped plugin of the same name serves the toolset.
	Plugin bool `json:"-"`
	// StartsTasks is set if tools start background tasks, which end with the session.
	StartsTasks bool `json:"starts_tasks"`
	// OwnPermissions is set if the contract words refusals itself, so that tools refused by a
	// policy are listed too.
	OwnPermissions bool `json:"own_permissions"`
	// EventsFile is set if the contract promises an events.jsonl in the workspace.
	EventsFile bool `json:"events_file"`
	// NamedInJSON puts the tool's name before the command line's JSON result, Checked a check mark
	// before its text.
	NamedInJSON bool `json:"named_in_json"`
	Checked     bool `json:"checked"`
	// Crossed puts a cross before errors on a terminal. BareErrors prints the next step after
	// an error without a cross.
	Crossed    bool `json:"crossed"`
	BareErrors bool `json:"bare_errors"`
	// Hands is set for tools of model vendors, whose agents have them as their own.
	Hands bool `json:"hands"`
	// Result is the model API in whose form --json prints a result, "" if none.
	Result string `json:"result"`
	// Forms are the tools that model APIs define themselves, by schema format and tool name.
	Forms map[string]map[string]json.RawMessage `json:"forms"`
}

// All returns all toolsets. The first is the default, which has no folder: its tools come from several
// sources.
var All = sync.OnceValue(func() []Toolset {
	all := []Toolset{{Name: "agent"}}
	files, err := folders.ReadDir(".")
	if err != nil {
		panic(err) // they are part of this program
	}
	for _, f := range files {
		all = append(all, read(f.Name()))
	}
	return all
})

func read(folder string) Toolset {
	t := Toolset{Name: folder, Plugin: true}
	text, err := folders.ReadFile(path.Join(folder, "toolset.json"))
	if err != nil {
		panic(err) // it is part of this program
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		panic(folder + "/toolset.json: " + err.Error())
	}
	return t
}

// Find returns the named toolset.
func Find(name string) (found Toolset, ok bool) {
	all := All()
	i := slices.IndexFunc(all, func(t Toolset) bool { return t.Name == name })
	if i < 0 {
		return Toolset{}, false
	}
	return all[i], true
}

// Names returns the names of all toolsets.
func Names() []string {
	var names []string
	for _, t := range All() {
		names = append(names, t.Name)
	}
	return names
}
