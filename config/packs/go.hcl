pack {
  description = "Build, test and vet Go packages, and download modules"
  needs       = ["go"]
  detect      = ["go.mod"]
  unless      = ["go.work"]
  init        = 20
  try         = "toolhost call go_test"
  first       = "toolhost call go_mod_download"
  setting { command = ["go", "env", "GOPROXY"] }
  setting {
    command = ["go", "env", "GOSUMDB"]
    pattern = "^([a-z0-9-]+(?:\\.[a-z0-9-]+)+)"
  }
  note = "the host of your module proxy"
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
  example { params = { packages = ["./..."], run = "^TestX$" } }
  reject { params = { packages = ["-exec=sh"] } }
}

tool "go_build" {
  description = "Compile Go packages, and keep nothing of it. Returns: the errors, nothing if it compiles."
  risk        = "safe_write"
  param "packages" {
    type    = list(string)
    default = ["./..."]
  }
  command {
    argv    = ["go", "build", "-buildvcs=false", "-o=/dev/null", param.packages]
    timeout = "10m"
  }
  example { params = { packages = ["./..."] } }
  reject { params = { packages = ["-exec=sh"] } }
}

tool "go_vet" {
  description = "Look for likely mistakes in Go packages. Returns: the findings, nothing if there are none."
  risk        = "safe_write"
  param "packages" {
    type    = list(string)
    default = ["./..."]
  }
  command {
    argv    = ["go", "vet", param.packages]
    timeout = "10m"
  }
  example { params = { packages = ["./..."] } }
  reject { params = { packages = ["-exec=sh"] } }
}

tool "go_mod_download" {
  description = "Download the modules that go.mod names; later builds and tests have them without a network. Returns: nothing if all are there."
  risk        = "safe_write"
  command {
    argv    = ["go", "mod", "download"]
    timeout = "10m"
  }
  network = pack.hosts
}

tool "go_mod_tidy" {
  description = "Bring go.mod and go.sum in line with the imports. Returns: the modules that were added."
  risk        = "safe_write"
  command {
    argv    = ["go", "mod", "tidy"]
    timeout = "10m"
  }
  network = pack.hosts
}
