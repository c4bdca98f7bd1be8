pack {
  description = "Install a project's packages with yarn, and run the scripts of package.json"
  needs       = ["yarn"]
  detect      = ["package.json"]
  beside      = ["yarn.lock"]
  keys        = "scripts"
  skip        = "^(pre|post)(install|test|build|pack|publish|version|prepare|start|stop)|^(prepare|prepack|postpack|prepublishOnly|release|publish|deploy|version)$"
  init        = 30
  try         = "toolhost call script name=NAME"
  first       = "toolhost call yarn_install"
  note        = "the host of your registry"
  setting { command = ["npm", "config", "get", "registry"] }
  setting { # what differs from the default
    command   = ["npm", "config", "list"]
    pattern   = "(?m)^registry = \"([^\"]+)\""
    variables = ["npm_config_registry", "YARN_NPM_REGISTRY_SERVER"]
    unless    = [".npmrc", ".yarnrc.yml"]
  }
}

tool "yarn_install" {
  description = "Install the packages that yarn.lock pins. Returns: what yarn prints."
  risk        = "dangerous" # packages run their own scripts, in the sandbox
  command {
    argv    = ["yarn", "install", "--frozen-lockfile"]
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
    argv    = ["yarn", "run", param.name, param.args]
    timeout = "10m"
  }
  example { params = { name = pack.name } }
  reject { params = { name = "--help" } }
}
