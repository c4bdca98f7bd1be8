instructions = "Sales data in data/, a pipeline in report/. Run the command summarize to make everything in out/."

workspace {
  protect = ["data/**"] # what was measured is not edited
}

# The pipeline: list_commands and run_command know venv, clean, summarize, test.
taskfile { path = "Taskfile.yml" }

# A program of the workspace is run through one that is installed: env finds the
# interpreter of .venv or, before the command venv has made it, the machine's.
locals { python = ["env", "PATH=.venv/bin:/usr/local/bin:/usr/bin:/bin", "python3"] }

tool "summarize" {
  description = "Add up quantity and revenue of a CSV file with sales. Returns: a list of objects."
  risk        = "read_only"
  param "file" {
    description = "Such as out/clean.csv."
    type        = string
    path        = "read"
  }
  param "by" {
    type    = string
    enum    = ["region", "product", "month"]
    default = "region"
  }
  command { argv = [local.python, "-m", "report", "summarize", "--by=${param.by}", "--", param.file] }
  output { type = "json" }
  example { params = { file = "out/clean.csv", by = "month" } }
  reject { params = { file = "out/clean.csv", by = "price" } }
  reject { params = { file = "/etc/passwd" } }
}

tool "run_tests" {
  description = "Run the tests, all of them unless modules are named. Returns: the report of unittest."
  risk        = "read_only"
  param "modules" {
    description = "Such as tests.test_steps or tests.test_steps.Steps.test_revenue_is_exact."
    type        = list(string)
    default     = []
    max         = 20
  }
  command {
    argv    = [local.python, "-m", "unittest", "-v", param.modules]
    timeout = "5m"
  }
  example { params = { modules = ["tests.test_steps"] } }
}

# Reports how far it is: clients that show progress show the file.
tool "check_csv" {
  description = "Check that all CSV files below a directory can be read. Returns: a line for each."
  risk        = "read_only"
  param "dir" {
    type    = string
    default = "data"
    path    = "read"
  }
  command {
    argv   = [local.python, "tools/check_csv.py", param.dir]
    report = "toolhost:"
  }
}
