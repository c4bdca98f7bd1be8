pack {
  description = "Build, test, check and lay out Rust code, and download crates"
  needs       = ["cargo"]
  detect      = ["Cargo.toml"]
  init        = 21
  try         = "toolhost call cargo_test"
  first       = "toolhost call cargo_fetch"
  note        = "the hosts of your crate registry: its index and its files"
  setting {
    file    = "~/.cargo/config.toml"
    pattern = "registry\\s*=\\s*\"(?:sparse\\+)?(https?)://([^/\"]+)"
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
    env     = { CARGO_HOME = "target/.cargo" }
    timeout = "10m"
  }
  example { params = { filter = "adds" } }
  reject { params = { filter = "--config=x" } }
}

tool "cargo_build" {
  description = "Build with cargo. Returns: what cargo prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  command {
    argv    = ["cargo", "build", "--offline"]
    env     = { CARGO_HOME = "target/.cargo" }
    timeout = "10m"
  }
}

tool "cargo_clippy" {
  description = "Look for likely mistakes with clippy. Returns: the findings."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  command {
    argv    = ["cargo", "clippy", "--offline", "--all-targets"]
    env     = { CARGO_HOME = "target/.cargo" }
    timeout = "10m"
  }
}

tool "cargo_fmt" {
  description = "Lay out the Rust files. Returns: nothing."
  risk        = "safe_write"
  command {
    argv    = ["cargo", "fmt"]
    env     = { CARGO_HOME = "target/.cargo" }
    timeout = "10m"
  }
}

tool "cargo_fetch" {
  description = "Download the crates that the project needs, into target/.cargo; builds and tests have them without a network. Returns: what cargo prints."
  risk        = "safe_write"
  command {
    argv    = ["cargo", "fetch"]
    env     = { CARGO_HOME = "target/.cargo" }
    timeout = "10m"
  }
  network = pack.hosts
}
