plugin "weather" {
  source = ""
  sha256 = "abc"
  config { units = "metric" }
  config { units = "imperial" }
  env = { "X Y" = "z" }
  permissions = ["file_raed", "weather"]
  colour = "blue"
}

plugin "nowhere" {}

mcp "two" {
  command = ["server"]
  url     = "https://example.com/mcp"
}

mcp "none" {
  prefix = "a b"
}

mcp "odd" {
  url      = "ftp://example.com"
  env      = { A = "b" }
  protocol = "2025-11-26"
}

mcp "idle" {
  command = []
  headers = { A = "b" }
  include = ["[x"]
  risk    = { "[y" = "read_only", "*" = "mild" }
}
