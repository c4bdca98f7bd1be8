instructions = "A shop in Go: every directory with a go.mod is a module. After a change ask affected_modules what to test."

workspace {
  protect = ["bin/**"] # the programs that toolhost starts are built by people
}

# The commands of all modules: test, money:test, orders:run, ... File tools may
# not write the Taskfile, nor any that it includes.
taskfile {
  path    = "Taskfile.yml"
  timeout = "10m"
}

tool "go_test" {
  description = "Run the tests of one module. Returns: what go test prints."
  risk        = "read_only" # only the build cache is written
  param "module" {
    type = string
    enum = ["libs/money", "services/orders", "services/invoices"]
  }
  param "run" {
    description = "Only tests whose name matches this regular expression are run."
    type        = string
    default     = null
  }
  command {
    argv    = ["go", "-C", param.module, "test", "-run=${param.run}", "./..."]
    timeout = "10m"
  }
  example { params = { module = "libs/money", run = "TestParse" } }
  reject { params = { module = ".." } }
}

# A plugin of this repository, built from tools/.
plugin "affected" { source = "./bin/toolhost-plugin-affected" }

# Another MCP server, also built from tools/. It runs confined, in the workspace.
mcp "decisions" {
  command = ["./bin/mcp-decisions", "docs/decisions"]
  prefix  = "decisions_"
  risk    = { add = "safe_write" }
}

policy {
  rule "decisions are made by people" {
    tool   = "decisions_add"
    action = "ask"
  }
}

# For a client that only looks: toolhost serve --toolset review
toolset "review" {
  tools = ["read_file", "rg", "git_diff", "go_test", "affected_modules", "decisions_list"]
}
