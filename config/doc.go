// Package config reads agent.hcl (and agent.hcl.json, HCL's JSON syntax) into
// plain structs and diagnostics. It runs nothing and touches no file but the
// one it is asked to read.
//
// All mistakes of a file are reported at once, each with its place, the lines
// of source and what to do about it. A file is bounded in size and nesting
// before it is parsed, and what its expressions may produce is bounded too, so
// that a hostile file costs a moment and no more.
//
// # Text
//
// The expression language normalizes text to Unicode NFC. Literal text,
// references to variables and locals that are literal text, env() and
// templates made of these keep their bytes all the same; only what goes
// through a function or an operator comes out normalized. Values that arrive
// with a call never meet the expression language: argv, env and stdin of a
// command are compiled once, into [argv.Expr], and filled in as they are.
//
// # Expressions
//
// var.NAME and local.NAME refer to variables and locals, path.root is the
// directory of the file, workspace.root that of the workspace, and param.NAME
// is a parameter of the tool, in command blocks only. Functions work on values
// alone; none reads a file. env("NAME") and env("NAME", "default") read the
// environment, and what they give is kept in [Config.Secrets] for redaction.
package config
