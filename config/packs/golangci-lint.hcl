pack {
  description = "Check Go packages with golangci-lint"
  needs       = ["golangci-lint"]
  detect      = [".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"]
  init        = 25
}

tool "golangci_lint" {
  description = "Check Go packages with golangci-lint. Returns: the findings."
  risk        = "safe_write"
  param "packages" {
    type    = list(string)
    default = ["./..."]
  }
  command {
    argv    = ["golangci-lint", "run", "--", param.packages]
    success = [0, 1] # 1: there are findings
    timeout = "10m"
  }
  example { params = { packages = ["./..."] } }
}
