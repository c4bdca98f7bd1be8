pack {
  description = "Filter JSON files"
  needs       = ["jq"]
}

tool "jq" {
  description = "Filter JSON files. Returns: what the filter gives, as JSON."
  risk        = "read_only"
  param "filter" {
    description = "Such as .name or .items[] | select(.id == 1)."
    type        = string
  }
  param "files" {
    type = list(string)
    path = "read"
    min  = 1
  }
  param "raw" {
    description = "Print texts without quotes."
    type        = bool
    default     = false
  }
  param "slurp" {
    description = "Read all files into one list."
    type        = bool
    default     = false
  }
  command {
    argv    = ["jq", param.raw ? "-r" : null, param.slurp ? "-s" : null, param.filter, param.files]
    timeout = "1m"
  }
  example { params = { filter = ".name", files = ["package.json"] } }
  reject { params = { filter = "--version", files = ["package.json"] } }
}
