pack {
  description = "Check JavaScript and TypeScript files"
  needs       = ["npx"]
  detect      = ["eslint.config.js", "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts", ".eslintrc*"]
}

tool "eslint" {
  description = "Check JavaScript and TypeScript files. Returns: the problems."
  risk        = "read_only"
  param "files" {
    type    = list(string)
    default = ["."]
    path    = "read"
  }
  command {
    argv    = ["npx", "--no-install", "eslint", "--", param.files]
    success = [0, 1] # 1: there are findings
    timeout = "10m"
  }
  example { params = { files = ["."] } }
  reject { params = { files = ["../elsewhere"] } }
}
