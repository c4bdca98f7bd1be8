// Package toolset says what is known of the toolsets that are part of toolhost
// without their code: each is a folder here, and what is special about it
// stands in its toolset.json. Package project lists the code.
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
	// Plugin is set for those that a shipped plugin of the same name serves.
	Plugin bool `json:"-"`
	// StartsTasks is set where tools start background tasks, which end with the
	// session.
	StartsTasks bool `json:"starts_tasks"`
	// OwnPermissions is set where calls are refused in words of the contract's
	// own, so that tools which a policy refuses are listed too.
	OwnPermissions bool `json:"own_permissions"`
	// EventsFile is set where the contract promises an events.jsonl in the
	// workspace.
	EventsFile bool `json:"events_file"`
	// NamedInJSON puts the tool's name in front of the result that the command
	// line prints for programs, Checked a check mark in front of what it prints
	// for people.
	NamedInJSON bool `json:"named_in_json"`
	Checked     bool `json:"checked"`
	// Crossed puts a cross in front of errors on a terminal. BareErrors have the
	// next step printed behind an error, whose text has none.
	Crossed    bool `json:"crossed"`
	BareErrors bool `json:"bare_errors"`
	// Hands is set for the tools of model vendors, which agents have as their own.
	Hands bool `json:"hands"`
	// Result names the model API in whose form --json prints a result, "" for
	// none.
	Result string `json:"result"`
	// Forms are what model APIs take for tools that they define themselves, by
	// the format of the schema and the name of the tool.
	Forms map[string]map[string]json.RawMessage `json:"forms"`
}

// All are all of them, the default one first. Its tools come from several
// sources, so that it has no folder.
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

// read reads what the folder of a toolset says of it.
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

// Find gives the toolset of a name; the zero one where it is no part of
// toolhost.
func Find(name string) (found Toolset, ok bool) {
	all := All()
	i := slices.IndexFunc(all, func(t Toolset) bool { return t.Name == name })
	if i < 0 {
		return Toolset{}, false
	}
	return all[i], true
}

// Names are the names of all.
func Names() []string {
	var names []string
	for _, t := range All() {
		names = append(names, t.Name)
	}
	return names
}
