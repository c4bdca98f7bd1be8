pack {
  description = "Get documents of one host"
  needs       = ["curl"]
  note        = "the one host that it may reach: toolhost add curl --host HOST"
}

tool "curl" {
  description = "Get a document by https. Only the hosts of network in agent.hcl are reached. Returns: its text."
  risk        = "read_only"
  param "url" {
    type    = string
    pattern = "^https://[^\\s{}\\[\\]]+$"
  }
  command {
    argv    = ["curl", "--fail", "--silent", "--show-error", "--location", "--proto", "=https", "--max-time", "30", "--", param.url]
    timeout = "1m"
  }
  network = pack.hosts
  example { params = { url = "https://example.com/a" } }
  reject { params = { url = "file:///etc/passwd" } }
  reject { params = { url = "--output=x" } }
}
