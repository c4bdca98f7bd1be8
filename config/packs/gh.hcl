pack {
  description = "Read issues and pull requests on GitHub"
  needs       = ["gh"]
  hosts       = ["api.github.com"]
}

# GH_TOKEN comes from toolhost's environment: a token that can only read is enough.
locals { gh_token = env("GH_TOKEN", "") }

tool "gh_list" {
  description = "List issues or pull requests. Returns: JSON."
  risk        = "read_only"
  param "what" {
    type = string
    enum = ["issue", "pr"]
  }
  param "repo" {
    type    = string
    pattern = "^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$"
  }
  param "search" {
    type    = string
    default = null
  }
  command {
    argv    = ["gh", param.what, "list", "--repo=${param.repo}", "--search=${param.search}", "--json=number,title,state,url"]
    env     = { GH_TOKEN = local.gh_token }
    timeout = "10m"
  }
  network = pack.hosts
  example { params = { what = "issue", repo = "golang/go" } }
}

tool "gh_view" {
  description = "Show an issue or a pull request with its comments. Returns: its text."
  risk        = "read_only"
  param "what" {
    type = string
    enum = ["issue", "pr"]
  }
  param "repo" {
    type    = string
    pattern = "^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$"
  }
  param "number" {
    type = integer
    min  = 1
  }
  command {
    argv    = ["gh", param.what, "view", "--repo=${param.repo}", "--comments", "${param.number}"]
    env     = { GH_TOKEN = local.gh_token }
    timeout = "10m"
  }
  network = pack.hosts
  example { params = { what = "pr", repo = "golang/go", number = 1 } }
}
