pack {
  description = "Install a project's packages with npm, and run the scripts of package.json"
  needs       = ["npm"]
  detect      = ["package.json"]
  unless      = ["pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"]
  keys        = "scripts"
  skip        = "^(pre|post)(install|test|build|pack|publish|version|prepare|start|stop)|^(prepare|prepack|postpack|prepublishOnly|release|publish|deploy|version)$"
  init        = 30
  try         = "toolhost call script name=NAME"
  first       = "toolhost call npm_install"
  note        = "the host of your registry"
  pick "install" {
    file  = "package-lock.json"
    words = ["npm", "ci", "--no-audit", "--no-fund", "--no-update-notifier"]
  }
  pick "install" {
    words = ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier"]
  }
  setting { command = ["npm", "config", "get", "registry"] }
  setting { # what differs from the default
    command   = ["npm", "config", "list"]
    pattern   = "(?m)^registry = \"([^\"]+)\""
    variables = ["npm_config_registry"]
    unless    = [".npmrc"]
  }
}

tool "npm_install" {
  description = "Install the packages that package-lock.json pins, or else package.json names. Returns: what npm prints."
  risk        = "dangerous" # packages run their own scripts, in the sandbox
  command {
    argv    = [pack.install]
    timeout = "10m"
    env     = pack.env
  }
  network = pack.hosts
}

# The scripts of pack.file, without those that publish.
tool "script" {
  description = "Run a script of package.json. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "name" {
    type = string
    enum = pack.names
  }
  param "args" {
    description = "Arguments for the script."
    type        = list(string)
    default     = []
    dash        = true
  }
  command {
    argv    = ["npm", "run", param.name, "--", param.args]
    timeout = "10m"
  }
  example { params = { name = pack.name } }
  reject { params = { name = "--help" } }
}
