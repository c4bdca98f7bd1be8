pack {
  description = "Run tests with pytest"
  needs       = ["python3"]
  detect      = ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "conftest.py", "test_*.py",
    "*_test.py", "tests/test_*.py", "tests/*_test.py"]
  init        = 41
  try         = "toolhost call pytest"
  pick "python" {
    file  = ".venv/bin/python"
    words = ["env", ".venv/bin/python"]
  }
  pick "python" {
    words = ["env", "PATH=.venv/bin:/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin", "python3"]
  }
}

tool "pytest" {
  description = "Run tests with pytest. Returns: what pytest prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "paths" {
    description = "Files and directories; by default what the project's settings say."
    type        = list(string)
    default     = []
    path        = "read"
  }
  param "name" {
    description = "Only tests whose name matches this expression, such as \"one or two\"."
    type        = string
    default     = null
  }
  command {
    argv    = [pack.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k=${param.name}", "--", param.paths]
    success = [0]
    timeout = "10m"
  }
  example { params = { paths = ["."] } }
  reject { params = { paths = ["../elsewhere"] } }
}
