pack {
  description = "Check the layout of files"
  needs       = ["npx"]
  detect      = ["package.json"]
  contains    = "\"prettier\""
}

tool "prettier_check" {
  description = "Check the layout of files. Returns: the files that are laid out in another way."
  risk        = "read_only"
  param "files" {
    type    = list(string)
    default = ["."]
    path    = "read"
  }
  command {
    argv    = ["npx", "--no-install", "prettier", "--check", "--", param.files]
    success = [0, 1] # 1: there are findings
    timeout = "10m"
  }
  example { params = { files = ["."] } }
  reject { params = { files = ["../elsewhere"] } }
}

tool "prettier_write" {
  description = "Lay out files. Returns: the files."
  risk        = "safe_write"
  param "files" {
    type    = list(string)
    default = ["."]
    path    = "write"
  }
  command {
    argv    = ["npx", "--no-install", "prettier", "--write", "--", param.files]
    timeout = "10m"
  }
  example { params = { files = ["."] } }
  reject { params = { files = ["../elsewhere"] } }
}
