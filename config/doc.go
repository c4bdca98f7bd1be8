// Package config reads agent.hcl into plain structs and diagnostics. It runs nothing and reads no other file.
//
// Each mistake is reported with its place, source and remedy: those of syntax, or else all others at once. Size
// and nesting of a file, and what its expressions produce, are bounded, so that a hostile file costs only a
// moment.
//
// The expression language normalizes text to Unicode NFC. Values of a call never pass through it: argv, env and
// stdin of a command are compiled once, into [argv.Expr], and filled in unchanged.
//
// # Expressions
//
// var.NAME and local.NAME refer to variables and locals, path.root is the directory of the file, workspace.root
// that of the workspace, and param.NAME is a parameter of the tool, in command blocks only. Functions are pure;
// none reads a file. env("NAME") and env("NAME", "default") read the environment; their values are kept in
// [Config.Secrets] for redaction.
package config
