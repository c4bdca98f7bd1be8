// Package approval lets a person approve a call in a terminal if its caller cannot ask.
//
// A call that needs approval is filed as [Pending] in the state of the workspace, under a short ID, for a
// person to approve or refuse. The approval is for exactly that call (workspace, toolset, tool, parameters, and
// a named session), once, and for a short time. It is stored outside the workspace, where no tool can forge
// one.
package approval
