pack {
  description = "Build, test and vet the modules of a Go workspace"
  needs       = ["go"]
  detect      = ["go.work"]
  names       = "^(?:use\\s+|\\s+)\"?(\\.[A-Za-z0-9_./-]*)\"?\\s*(?://.*)?$"
  init        = 20
  try         = "toolhost call go_test module=NAME"
  first       = "toolhost call go_mod_download"
  setting { command = ["go", "env", "GOPROXY"] }
  setting {
    command = ["go", "env", "GOSUMDB"]
    pattern = "^([a-z0-9-]+(?:\\.[a-z0-9-]+)+)"
  }
  note = "the host of your module proxy"
}

# The modules are those of pack.file.
tool "go_test" {
  description = "Run the tests of one module of the workspace. Returns: what go test prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "module" {
    type = string
    enum = pack.names
  }
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
    argv    = ["go", "-C", param.module, "test", "-run=${param.run}", param.packages]
    timeout = "10m"
  }
  example { params = { module = pack.name } }
  reject { params = { module = "/etc" } }
}

tool "go_build" {
  description = "Compile one module of the workspace, and keep nothing of it. Returns: the errors, nothing if it compiles."
  risk        = "safe_write"
  param "module" {
    type = string
    enum = pack.names
  }
  param "packages" {
    type    = list(string)
    default = ["./..."]
  }
  command {
    argv    = ["go", "-C", param.module, "build", "-buildvcs=false", "-o=/dev/null", param.packages]
    timeout = "10m"
  }
  example { params = { module = pack.name } }
}

tool "go_vet" {
  description = "Look for likely mistakes in one module of the workspace. Returns: the findings, nothing if there are none."
  risk        = "safe_write"
  param "module" {
    type = string
    enum = pack.names
  }
  param "packages" {
    type    = list(string)
    default = ["./..."]
  }
  command {
    argv    = ["go", "-C", param.module, "vet", param.packages]
    timeout = "10m"
  }
  example { params = { module = pack.name } }
}

tool "go_mod_download" {
  description = "Download the modules that the workspace needs; later builds and tests have them without a network. Returns: nothing if all are there."
  risk        = "safe_write"
  command {
    argv    = ["go", "mod", "download"]
    timeout = "10m"
  }
  network = pack.hosts
}
