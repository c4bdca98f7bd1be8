pack {
  description = "Install a Ruby project's gems into vendor/bundle, and run its programs"
  needs       = ["bundle"]
  detect      = ["Gemfile"]
  init        = 23
  first       = "toolhost call bundle_install"
  note        = "the host of your gem server"
  setting { command = ["gem", "sources", "--list"] }
}

tool "bundle_install" {
  description = "Install the gems that Gemfile.lock pins. Returns: what bundler prints."
  risk        = "dangerous" # gems run their own build, in the sandbox
  command {
    argv    = ["bundle", "install"]
    env     = { BUNDLE_PATH = "vendor/bundle" }
    timeout = "10m"
  }
  network = pack.hosts
}

tool "bundle_exec" {
  description = "Run a program of the gems. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "command" {
    description = "The program and its arguments."
    type        = list(string)
    min         = 1
    dash        = true
  }
  command {
    argv    = ["bundle", "exec", param.command]
    env     = { BUNDLE_PATH = "vendor/bundle" }
    timeout = "10m"
  }
  example { params = { command = ["rake", "test"] } }
}
