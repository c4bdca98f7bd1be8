pack {
  description = "Run tests with RSpec"
  needs       = ["bundle"]
  detect      = [".rspec", "spec/spec_helper.rb"]
  init        = 24
  try         = "toolhost call rspec"
}

tool "rspec" {
  description = "Run tests with RSpec. Returns: what failed, and a summary."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "files" {
    type    = list(string)
    default = ["spec"]
    path    = "read"
  }
  command {
    argv    = ["bundle", "exec", "rspec", "--no-color", "--", param.files]
    env     = { BUNDLE_PATH = "vendor/bundle" }
    timeout = "10m"
  }
  example { params = { files = ["spec"] } }
}
