# The tools that agents get in this repository. `toolhost list` shows them all,
# with the standard ones that every project has.

workspace {
  root = "."
}

locals {
  module = "github.com/toolhost/toolhost"
}

tool "go_doc" {
  description = "Show the Go documentation of a package of this module, or of one symbol in it. Returns: the documentation as text."
  risk        = "read_only"

  param "package" {
    description = "The package, relative to the module: host/tool."
    type        = string
    pattern     = "^[a-z][a-z0-9/]*$"
  }
  param "symbol" {
    description = "A symbol of the package, such as Definition. Empty shows the whole package."
    type        = string
    default     = ""
    pattern     = "^[A-Za-z0-9_.]*$"
  }

  command {
    argv    = ["go", "doc", "${local.module}/${param.package}.${param.symbol}"]
    timeout = "1m"
  }

  example { params = { package = "host/tool", symbol = "Risk" } }
  reject  { params = { package = "../../etc" } }
}

taskfile {
  path    = ".agent/Taskfile.yml"
  timeout = "20m" # the first build in the sandbox has a build cache of its own to fill
}

toolset "review" {
  tools = ["read_file", "rg", "git_diff", "go_doc"]
}
