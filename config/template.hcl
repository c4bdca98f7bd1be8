# The tools that agents get in this project. `toolhost list` shows them,
# `toolhost validate` checks this file, `toolhost fmt` lays it out.

workspace {
  root = "." # relative to this file

  # Further trees that tools may use:
  # allow = ["../shared-lib"]

  # What file tools may not write, besides .git, agent.hcl and the like:
  # protect = ["**/.env"]
}

# PROJECT

# Values that differ between machines: --var NAME=VALUE, TOOLHOST_VAR_NAME.
# variable "go" {
#   description = "The go command."
#   default     = "go"
# }
#
# locals {
#   module = "example.com/project"
# }

# A tool with typed parameters. argv is the command, and no shell has a part in
# it: a value is one argument, whatever is in it. Examples must be accepted and
# rejects refused; `toolhost validate` tries them.
#
# tool "count_todos" {
#   description = "Count TODO comments below a directory. Returns: a line per file with its count."
#   risk        = "read_only" # or "safe_write", "dangerous"
#
#   param "dir" {
#     description = "Where to look."
#     type        = string # integer, number, bool, list(string)
#     default     = "."
#     path        = "read" # stays in the workspace; "write" and "remove" for targets
#   }
#
#   command {
#     argv    = ["rg", "--count-matches", "--", "TODO", param.dir]
#     timeout = "30s"
#     success = [0, 1] # exit codes
#   }
#
#   example { params = { dir = "." } }
#   reject { params = { dir = "/etc" } }
# }

# Commands of a Taskfile that lies elsewhere: list_commands and run_command.
# taskfile {
#   path    = ".agent/Taskfile.yml"
#   timeout = "5m"
# }

# A plugin: a program that speaks toolhost's plugin protocol.
# plugin "weather" {
#   source = "./bin/toolhost-plugin-weather"
#   config { units = "metric" }
# }

# The tools of another MCP server.
# mcp "github" {
#   command = ["github-mcp-server", "stdio"]
#   env     = { TOKEN = env("GITHUB_TOKEN") }
#   prefix  = "gh_"
#   network = "allow"
# }

# A set of tools of your own: toolhost serve --toolset review
# toolset "review" {
#   tools  = ["read_file", "rg", "git_diff"]
#   rename = { read_file = "cat" }
# }

# What may run without asking: allow, ask or deny.
# policy {
#   dangerous = "ask"
#
#   rule "notes" {
#     tool   = "write_file"
#     params = "^\\{.*\"path\":\"notes/[^\"]*\\.md\""
#     action = "allow"
#   }
# }

# sandbox {
#   level   = "auto"
#   network = "deny"
# }

# web {
#   allow = ["127.0.0.1"] # addresses that are refused otherwise
# }

# limits {
#   output  = "64KiB"
#   timeout = "2m"
# }

# STANDARD TOOLS
