// Package tool is the contract between toolhost and its tools: a tool's description ([Definition]), its input
// ([Call]), its output ([Result] or [*Error]) and the host's services ([Services]).
//
// Builtins, command tools, Taskfile commands, plugins and MCP servers are all written against this package, and
// the host knows nothing else of them. It depends on the standard library only, so that a plugin author's
// module stays small.
package tool
