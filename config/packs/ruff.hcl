pack {
  description = "Check Python files with ruff"
  needs       = ["python3"]
  detect      = ["pyproject.toml"]
  contains    = "(?m)^\\[tool\\.ruff"
  pick "python" {
    file  = ".venv/bin/python"
    words = ["env", ".venv/bin/python"]
  }
  pick "python" {
    words = ["env", "PATH=.venv/bin:/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin", "python3"]
  }
}

tool "ruff_check" {
  description = "Check Python files with ruff. Returns: the findings."
  risk        = "read_only"
  param "files" {
    type    = list(string)
    default = ["."]
    path    = "read"
  }
  command {
    argv    = [pack.python, "-m", "ruff", "check", "--no-cache", "--", param.files]
    success = [0, 1] # 1: there are findings
    timeout = "10m"
  }
  example { params = { files = ["."] } }
  reject { params = { files = ["../elsewhere"] } }
}

tool "ruff_format" {
  description = "Lay out Python files with ruff. Returns: how many were changed."
  risk        = "safe_write"
  param "files" {
    type    = list(string)
    default = ["."]
    path    = "write"
  }
  command {
    argv    = [pack.python, "-m", "ruff", "format", "--no-cache", "--", param.files]
    timeout = "10m"
  }
  example { params = { files = ["."] } }
  reject { params = { files = ["../elsewhere"] } }
}
