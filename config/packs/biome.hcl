pack {
  description = "Check and lay out JavaScript, TypeScript and JSON files"
  needs       = ["npx"]
  detect      = ["biome.json", "biome.jsonc"]
}

tool "biome_check" {
  description = "Check and lay out JavaScript, TypeScript and JSON files. Returns: the problems."
  risk        = "read_only"
  param "files" {
    type    = list(string)
    default = ["."]
    path    = "read"
  }
  command {
    argv    = ["npx", "--no-install", "biome", "check", "--", param.files]
    success = [0, 1] # 1: there are findings
    timeout = "10m"
  }
  example { params = { files = ["."] } }
  reject { params = { files = ["../elsewhere"] } }
}

tool "biome_write" {
  description = "Lay out files and put right what is safe to. Returns: what is left."
  risk        = "safe_write"
  param "files" {
    type    = list(string)
    default = ["."]
    path    = "write"
  }
  command {
    argv    = ["npx", "--no-install", "biome", "check", "--write", "--", param.files]
    success = [0, 1]
    timeout = "10m"
  }
  example { params = { files = ["."] } }
  reject { params = { files = ["../elsewhere"] } }
}
