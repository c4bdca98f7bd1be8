pack {
  description = "Check the types of a TypeScript project"
  needs       = ["npx"]
  detect      = ["tsconfig.json"]
}

tool "tsc" {
  description = "Check the types of a TypeScript project. Returns: the mistakes, nothing if there are none."
  risk        = "read_only"
  param "project" {
    type    = string
    default = "tsconfig.json"
    path    = "read"
  }
  command {
    argv    = ["npx", "--no-install", "tsc", "--noEmit", "-p", param.project]
    success = [0, 1, 2] # others: there are mistakes
    timeout = "10m"
  }
  example { params = { project = "tsconfig.json" } }
  reject { params = { project = "../tsconfig.json" } }
}
