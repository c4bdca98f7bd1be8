# The commands of this project's Taskfile: list_commands and run_command.
taskfile {
  path = "Taskfile.yml"
}

# The targets of Makefile.
tool "make" {
  description = "Run a target of Makefile. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "target" {
    type = string
    enum = ["all", "build-x"]
  }
  command {
    argv    = ["make", param.target]
    timeout = "10m"
  }
}

# The recipes of justfile.
tool "just" {
  description = "Run a recipe of justfile. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "recipe" {
    type = string
    enum = ["default"]
  }
  command {
    argv    = ["just", param.recipe]
    timeout = "10m"
  }
}

# The tasks of mise.toml.
tool "mise" {
  description = "Run a task of mise.toml. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "task" {
    type = string
    enum = ["lint"]
  }
  command {
    argv    = ["mise", "run", param.task]
    timeout = "10m"
  }
}

tool "go_test" {
  description = "Run the tests of Go packages. Returns: what go test prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "packages" {
    type    = list(string)
    default = ["./..."]
  }
  param "run" {
    description = "Only tests whose name matches this regular expression are run."
    type        = string
    default     = null
  }
  command {
    argv    = ["go", "test", "-run=${param.run}", param.packages]
    timeout = "10m"
  }
}

tool "script" {
  description = "Run a script of package.json. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "name" {
    type = string
    enum = ["a\"$${x}", "test"]
  }
  command {
    argv    = ["npm", "run", param.name]
    timeout = "10m"
  }
}

tool "pytest" {
  description = "Run the tests with pytest. Returns: what pytest prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "paths" {
    type    = list(string)
    default = ["."]
    path    = "read"
  }
  command {
    argv    = ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--", param.paths]
    timeout = "10m"
  }
}

tool "cargo_test" {
  description = "Run the tests with cargo. Returns: what cargo prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "filter" {
    description = "Only tests whose name contains this are run."
    type        = string
    default     = null
  }
  command {
    argv    = ["cargo", "test", "--offline", param.filter]
    timeout = "10m"
  }
}

