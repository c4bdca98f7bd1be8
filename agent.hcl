# The tools that agents get in this repository. `toolhost list` shows them all,
# with the standard ones that every project has.

workspace {
  root = "."
}

tool "declaration" {
  description = "Find where this module's Go files declare a function, method, type, variable or constant. Returns: each place as path:line:text."
  risk        = "read_only"

  param "name" {
    description = "Its name, such as Definition."
    type        = string
    pattern     = "^[A-Za-z_][A-Za-z0-9_]*$"
  }
  param "dir" {
    description = "The directory to look in, with what is below it."
    type        = string
    default     = "."
    path        = "read"
  }

  command {
    argv    = ["grep", "-rnE", "--include=*.go", "^(func( \\([^)]*\\))?|type|var|const) ${param.name}([^A-Za-z0-9_]|$)", "${param.dir}"]
    success = [0, 1] # 1: there is none
  }

  example { params = { name = "Definition", dir = "host/tool" } }
  reject  { params = { name = "a.*b" } }
}

taskfile {
  path    = ".agent/Taskfile.yml"
  timeout = "20m" # the first build in the sandbox has a build cache of its own to fill
}

toolset "review" {
  tools = ["read_file", "rg", "git_diff", "declaration"]
}
