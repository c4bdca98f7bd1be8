pack {
  description = "Install a PHP project's packages, and run its scripts"
  needs       = ["composer"]
  detect      = ["composer.json"]
  init        = 23
  first       = "toolhost call composer_install"
  note        = "the host of your package repository"
  setting { command = ["composer", "config", "--global", "--list"] }
}

tool "composer_install" {
  description = "Install the packages that composer.lock pins. Returns: what composer prints."
  risk        = "dangerous" # packages run their own scripts, in the sandbox
  command {
    argv    = ["composer", "install", "--no-interaction", "--no-progress"]
    timeout = "10m"
  }
  network = pack.hosts
}

tool "composer_run" {
  description = "Run a script of composer.json. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "script" {
    type    = string
    pattern = "^[A-Za-z0-9][A-Za-z0-9:_-]*$"
  }
  command {
    argv    = ["composer", "run-script", "--no-interaction", "--", param.script]
    timeout = "10m"
  }
  example { params = { script = "test" } }
  reject { params = { script = "--working-dir=/" } }
}
