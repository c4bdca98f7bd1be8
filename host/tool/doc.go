// Package tool is the contract between toolhost and its tools: what a tool
// says about itself ([Definition]), what it receives ([Call]), what it gives
// back ([Result] or [*Error]) and which services the host lends it
// ([Services]).
//
// Builtins, command tools, Taskfile commands, plugins and upstream MCP servers
// are all written against this package, and the host knows nothing else of
// them. It depends on the standard library only, so that a plugin author's
// module stays small.
package tool
