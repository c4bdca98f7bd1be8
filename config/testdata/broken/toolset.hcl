toolset "review" {
  tools  = ["read_file", "rg", "git_diff", "read_file", "bad name"]
  rename = { rg = "git_diff", raed_file = "cat", git_diff = "a b" }
}

toolset "agent" {
  tools = ["rg"]
}

toolset "empty" {
  tools = []
}

toolset "none" {}
