pack {
  description = "Run the targets of a Makefile"
  needs       = ["make"]
  detect      = ["Makefile", "makefile", "GNUmakefile"]
  names       = "^([A-Za-z0-9][A-Za-z0-9_-]*)\\s*::?(?:[^=]|$)"
  skip        = "^((un)?install|publish|release|deploy|upload)$"
  init        = 50
  try         = "toolhost call make target=NAME"
}

# The targets of pack.file, without those that install or publish.
tool "make" {
  description = "Run a target of this project's Makefile. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "target" {
    type = string
    enum = pack.names
  }
  command {
    argv    = ["make", param.target]
    timeout = "10m"
  }
  example { params = { target = pack.name } }
  reject { params = { target = "-f" } }
}
