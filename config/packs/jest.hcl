pack {
  description = "Run tests with Jest"
  needs       = ["npx"]
  detect      = ["package.json"]
  contains    = "\"jest\""
}

tool "jest" {
  description = "Run tests with Jest. Returns: the tests that failed, and a summary."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "files" {
    description = "Only these test files, or those whose path contains one of these texts."
    type        = list(string)
    default     = []
  }
  param "name" {
    description = "Only tests whose name matches this regular expression."
    type        = string
    default     = null
  }
  command {
    argv    = ["npx", "--no-install", "jest", "--ci", "-t=${param.name}", param.files]
    success = [0]
    timeout = "10m"
  }
  example { params = { name = "adds" } }
  reject { params = { files = ["--config=x"] } }
}
