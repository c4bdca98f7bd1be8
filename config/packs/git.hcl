pack {
  description = "Look at the state and the history of the repository, and commit"
  needs       = ["git"]
  detect      = [".git"]
}

tool "git_status" {
  description = "Show what has changed since the last commit. Returns: a line for each file."
  risk        = "read_only"
  command {
    argv    = ["git", "status", "--short", "--branch"]
    timeout = "10m"
  }
}

tool "git_log" {
  description = "Show the history. Returns: the commits, newest first."
  risk        = "read_only"
  param "count" {
    type    = integer
    default = 10
    min     = 1
  }
  param "paths" {
    type    = list(string)
    default = []
    path    = "read"
  }
  command {
    argv    = ["git", "log", "--no-color", "--stat=100", "--max-count=${param.count}", "--", param.paths]
    timeout = "10m"
  }
  example { params = { count = 5 } }
}

tool "git_show" {
  description = "Show a commit with its changes. Returns: the commit."
  risk        = "read_only"
  param "commit" {
    type    = string
    default = "HEAD"
    pattern = "^[A-Za-z0-9][A-Za-z0-9._/~^-]*$"
  }
  command {
    argv    = ["git", "show", "--no-color", "--no-ext-diff", "--no-textconv", param.commit, "--"]
    timeout = "10m"
  }
  example { params = { commit = "HEAD~1" } }
  reject { params = { commit = "--output=x" } }
}

tool "git_commit" {
  description = "Commit files as they are now. Returns: what git prints."
  risk        = "safe_write"
  param "message" {
    type = string
  }
  param "files" {
    description = "Files that git knows; git_add makes new ones known."
    type        = list(string)
    path        = "read"
    min         = 1
  }
  command {
    argv    = ["git", "commit", "--message=${param.message}", "--", param.files]
    timeout = "10m"
  }
  example { params = { message = "Say why", files = ["a.txt"] } }
}

tool "git_add" {
  description = "Have git know of new files. Returns: nothing."
  risk        = "safe_write"
  param "files" {
    type = list(string)
    path = "read"
    min  = 1
  }
  command {
    argv    = ["git", "add", "--", param.files]
    timeout = "10m"
  }
  example { params = { files = ["a.txt"] } }
  reject { params = { files = ["../a.txt"] } }
}
