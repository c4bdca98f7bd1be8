pack {
  description = "Filter YAML files"
  needs       = ["yq"]
}

tool "yq" {
  description = "Filter YAML files. Returns: what the filter gives."
  risk        = "read_only"
  param "filter" {
    description = "Such as .name or .items[0]."
    type        = string
  }
  param "files" {
    type = list(string)
    path = "read"
    min  = 1
  }
  command {
    argv    = ["yq", param.filter, param.files]
    timeout = "1m"
  }
  example { params = { filter = ".name", files = ["a.yaml"] } }
  reject { params = { filter = "-i", files = ["a.yaml"] } }
}
