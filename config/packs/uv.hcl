pack {
  description = "Install a project's Python packages with uv, and run its programs"
  needs       = ["uv"]
  detect      = ["uv.lock"]
  init        = 40
  first       = "toolhost call uv_sync"
  setting {
    file    = "~/.config/uv/uv.toml"
    pattern = "url\\s*=\\s*\"(https?)://([^/\"]+)"
  }
  setting {
    file      = "~/.config/uv/uv.toml"
    pattern   = "(?ms)\\A[^\\[]*^index-url\\s*=\\s*\"([^\"]+)\"|^\\[\\[index\\]\\][^\\[]*^url\\s*=\\s*\"([^\"]+)\"[^\\[]*^default\\s*=\\s*true"
    variables = ["UV_DEFAULT_INDEX"]
  }
  setting {
    command = ["uv", "sync", "--help"]
    pattern = "by default: <(https?)://([^/\\s>]+)"
  }
  note = "the hosts of your package index and of its files"
}

# The files of packages may lie on another host than the index: the error of a
# call names the one to add.
tool "uv_sync" {
  description = "Install the packages that uv.lock pins into .venv. Returns: what uv prints."
  risk        = "dangerous" # packages run their own build, in the sandbox
  command {
    argv    = ["uv", "sync", "--frozen"]
    timeout = "10m"
    env     = pack.env
  }
  network = pack.hosts
}

tool "uv_run" {
  description = "Run a program of .venv, without a network. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "command" {
    description = "The program and its arguments."
    type        = list(string)
    min         = 1
    dash        = true
  }
  command {
    argv    = ["uv", "run", "--offline", "--no-sync", "--", param.command]
    timeout = "10m"
  }
  example { params = { command = ["python", "-V"] } }
}
