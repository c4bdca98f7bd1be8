pack {
  description = "Run the tasks of a mise.toml"
  needs       = ["mise"]
  detect      = ["mise.toml", ".mise.toml"]
  names       = "^\\[tasks\\.([A-Za-z0-9_-]+)\\]|^([A-Za-z0-9_-]+)\\s*="
  section     = "[tasks]"
  init        = 52
  try         = "toolhost call mise task=NAME"
}

# The tasks of pack.file.
tool "mise" {
  description = "Run a task of this project's mise.toml. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "task" {
    type = string
    enum = pack.names
  }
  command {
    argv    = ["mise", "run", param.task]
    timeout = "10m"
  }
  example { params = { task = pack.name } }
  reject { params = { task = "-f" } }
}
