pack {
  description = "Check the types of Python files with mypy"
  needs       = ["python3"]
  detect      = ["mypy.ini", ".mypy.ini"]
  pick "python" {
    file  = ".venv/bin/python"
    words = ["env", ".venv/bin/python"]
  }
  pick "python" {
    words = ["env", "PATH=.venv/bin:/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin", "python3"]
  }
}

tool "mypy" {
  description = "Check the types of Python files with mypy. Returns: the mistakes."
  risk        = "read_only"
  param "files" {
    type    = list(string)
    default = ["."]
    path    = "read"
  }
  command {
    argv    = [pack.python, "-m", "mypy", "--cache-dir=/dev/null", "--", param.files]
    success = [0, 1] # 1: there are findings
    timeout = "10m"
  }
  example { params = { files = ["."] } }
  reject { params = { files = ["../elsewhere"] } }
}
