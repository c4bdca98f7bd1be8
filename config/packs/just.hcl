pack {
  description = "Run the recipes of a justfile"
  needs       = ["just"]
  detect      = ["justfile", "Justfile", ".justfile"]
  names       = "^@?([A-Za-z][A-Za-z0-9_-]*)(?:\\s[^:]*)?:(?:[^=]|$)"
  init        = 51
  try         = "toolhost call just recipe=NAME"
}

# The recipes of pack.file.
tool "just" {
  description = "Run a recipe of this project's justfile. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "recipe" {
    type = string
    enum = pack.names
  }
  command {
    argv    = ["just", param.recipe]
    timeout = "10m"
  }
  example { params = { recipe = pack.name } }
  reject { params = { recipe = "-f" } }
}
