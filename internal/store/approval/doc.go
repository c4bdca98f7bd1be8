// Package approval lets a person approve a call in a terminal that its caller
// had no way to ask about.
//
// A call that needs approval is filed as [Pending] in the state of the
// workspace, under a short ID. A person looks at it and approves or refuses it.
// The approval is for exactly that call (workspace, toolset, tool, parameters,
// and the session where it has a name of its own), once, and for a short time. It is kept outside the workspace, where no tool
// can forge one: what lies in the workspace is shown to the person and decides
// nothing.
package approval
