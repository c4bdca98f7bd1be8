mcp "program" {
  command = ["server"]
  oauth {}
}

mcp "both" {
  url     = "https://example.com/mcp"
  headers = { authorization = "Bearer x" }
  oauth {}
  oauth {}
}

mcp "plain" {
  url = "http://example.com/mcp"
  oauth { client = "x" }
}

mcp "secrets" {
  url = "https://example.com/mcp"
  oauth {
    client_secret       = "in the file"
    client_secret_file  = "secret"
    issuer              = "http://login.example.com"
    client_metadata_url = "example.com/client.json"
  }
}

mcp "machine" {
  url = "https://example.com/mcp"
  oauth {
    grant         = "client_credentials"
    scopes        = ["two words"]
    redirect_port = 70000
  }
}

mcp "unknown" {
  url = "https://example.com/mcp"
  oauth {
    grant               = "password"
    client_id           = "x"
    client_metadata_url = "https://example.com/client.json"
    client_secret_file  = "secret"
  }
}

mcp "vouched" {
  url = "https://example.com/mcp"
  oauth {
    grant            = "jwt_bearer"
    client_id        = "x"
    private_key_file = "key"
    client_secret    = ""
  }
}

mcp "odd" {
  url = "https://example.com/mcp"
  oauth { assertion_file = "jwt" }
}
