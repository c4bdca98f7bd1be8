// Package toolset lists the toolsets that are part of toolhost. It holds what
// is known of them without their code: a toolset is a folder of plugins/shipped,
// a line here, and one in plugins/shipped that says where its plugin is.
package toolset

import "slices"

// Toolset is one that is part of toolhost.
type Toolset struct {
	Name string
	// Plugin is set for those that a shipped plugin of the same name serves.
	Plugin bool
	// StartsTasks is set where tools start background tasks, which end with the
	// session.
	StartsTasks bool
	// OwnPermissions is set where calls are refused in words of the contract's
	// own, so that tools which a policy refuses are listed too.
	OwnPermissions bool
	// NamedInJSON puts the tool's name in front of the result that the command
	// line prints for programs, Checked a check mark in front of what it prints
	// for people.
	NamedInJSON, Checked bool
	// Crossed puts a cross in front of errors on a terminal. BareErrors have the
	// next step printed behind an error, whose text has none.
	Crossed, BareErrors bool
}

// All are the toolsets, the default one first.
func All() []Toolset {
	return []Toolset{
		{Name: "agent"},
		{Name: "cliagent", Plugin: true, NamedInJSON: true, Checked: true, BareErrors: true},
		{Name: "agentbench", Plugin: true},
		{Name: "clemini", Plugin: true, StartsTasks: true},
		{Name: "ocode", Plugin: true, StartsTasks: true, OwnPermissions: true, Crossed: true, BareErrors: true},
	}
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
