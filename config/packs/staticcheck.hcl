pack {
  description = "Check Go packages with staticcheck"
  needs       = ["staticcheck"]
  detect      = ["staticcheck.conf"]
}

tool "staticcheck" {
  description = "Check Go packages with staticcheck. Returns: the findings, nothing if there are none."
  risk        = "safe_write"
  param "packages" {
    type    = list(string)
    default = ["./..."]
  }
  command {
    argv    = ["staticcheck", param.packages]
    success = [0, 1] # 1: there are findings
    timeout = "10m"
  }
  example { params = { packages = ["./..."] } }
  reject { params = { packages = ["-exec=sh"] } }
}
