pack {
  description = "Install a project's Python packages into .venv with pip"
  needs       = ["python3"]
  detect      = ["requirements.txt", "pyproject.toml", "setup.py"]
  unless      = ["uv.lock", "poetry.lock"]
  init        = 40
  first       = "toolhost call venv; toolhost call pip_install"
  pick "what" {
    file  = "requirements.txt"
    words = ["-r", "requirements.txt"]
  }
  pick "what" {
    words = ["-e", "."]
  }
  setting {
    command   = ["python3", "-m", "pip", "config", "list"]
    pattern   = "(?s)^(?:.*:env:|(?:.*\n)?install|(?:.*\n)?global)\\.extra-index-url='([^']+)'"
    variables = ["PIP_EXTRA_INDEX_URL"]
  }
  setting {
    command = ["python3", "-m", "pip", "install", "--help"]
    pattern = "\\(default\\s+(https?)://([^/\\s)]+)"
  }
  setting { # pip's order: the environment, [install], [global]
    command   = ["python3", "-m", "pip", "config", "list"]
    pattern   = "(?s)^(?:.*:env:|(?:.*\n)?install|(?:.*\n)?global)\\.index-url='([^']+)'"
    variables = ["PIP_INDEX_URL"]
  }
  note = "the hosts of your package index and of its files"
}

tool "venv" {
  description = "Make the environment .venv, into which pip_install installs. Returns: nothing."
  risk        = "safe_write"
  command {
    argv    = ["python3", "-m", "venv", ".venv"]
    timeout = "5m"
  }
}

# The files of packages may lie on another host than the index: the error of a
# call names the one to add. A program that a block with a grant names may not
# be changed, so python3 is found by PATH: venv may make it.
tool "pip_install" {
  description = "Install what the project needs into .venv, which venv makes. Returns: what pip prints."
  risk        = "dangerous" # packages run their own build, in the sandbox
  command {
    argv    = ["env", "PATH=.venv/bin:/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin", "python3", "-m", "pip", "--require-virtualenv", "install", pack.what]
    timeout = "10m"
    env     = pack.env
  }
  network = pack.hosts
}

tool "pip_add" {
  description = "Install further packages into .venv. Returns: what pip prints."
  risk        = "dangerous" # packages run their own build, in the sandbox
  param "packages" {
    description = "Names, with versions such as x==1.2."
    type        = list(string)
    min         = 1
    pattern     = "^[A-Za-z0-9][A-Za-z0-9._-]*(\\[[A-Za-z0-9,._-]+\\])?([=<>!~]=?[A-Za-z0-9.*]+)?$"
  }
  command {
    argv    = ["env", "PATH=.venv/bin:/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin", "python3", "-m", "pip", "--require-virtualenv", "install", "--", param.packages]
    timeout = "10m"
    env     = pack.env
  }
  network = pack.hosts
  example { params = { packages = ["pytest", "x[y]==1.2"] } }
  reject { params = { packages = ["https://example.com/x.zip"] } }
}
