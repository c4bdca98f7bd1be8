// Package config reads agent.hcl into plain structs and diagnostics. It runs
// nothing and touches no file but the one it is asked to read.
//
// Mistakes are reported each with its place, the lines of source and what to do
// about it: those of syntax, or else all others at once. A file is bounded in size and nesting
// before it is parsed, and what its expressions may produce is bounded too, so
// that a hostile file costs a moment and no more.
//
// The expression language normalizes text to Unicode NFC. Values that arrive
// with a call never meet it: argv, env and stdin of a command are compiled once,
// into [argv.Expr], and filled in as they are.
//
// # Expressions
//
// var.NAME and local.NAME refer to variables and locals, path.root is the
// directory of the file, workspace.root that of the workspace, and param.NAME
// is a parameter of the tool, in command blocks only. Functions work on values
// alone; none reads a file. env("NAME") and env("NAME", "default") read the
// environment, and what they give is kept in [Config.Secrets] for redaction.
package config
