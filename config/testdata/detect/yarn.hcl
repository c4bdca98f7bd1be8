tool "script" {
  description = "Run a script of package.json. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "name" {
    type = string
    enum = ["{{.What}} %s"]
  }
  command {
    argv    = ["yarn", "run", param.name]
    timeout = "10m"
  }
}

