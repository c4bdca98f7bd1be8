pack {
  description = "Run tests with unittest"
  needs       = ["python3"]
  detect      = ["tests/__init__.py", "test/__init__.py"]
  pick "python" {
    file  = ".venv/bin/python"
    words = ["env", ".venv/bin/python"]
  }
  pick "python" {
    words = ["env", "PATH=.venv/bin:/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin", "python3"]
  }
}

tool "unittest" {
  description = "Run tests with unittest. Returns: what failed, and a summary."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "name" {
    description = "Only tests whose name matches this pattern, such as *adds*."
    type        = string
    default     = "*"
  }
  command {
    argv    = [pack.python, "-m", "unittest", "discover", "-k=${param.name}"]
    success = [0]
    timeout = "10m"
  }
  example { params = { name = "*adds*" } }
}
