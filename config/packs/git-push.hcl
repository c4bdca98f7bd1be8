pack {
  description = "Push the current branch, and fetch, over https or ssh"
  needs       = ["git"]
  note        = "the host of your remote, with :22 for ssh"
  setting {
    file    = ".git/config"
    pattern = "url = (https?|ssh)://([^/\\s]+)"
  }
  setting {
    file    = ".git/config"
    pattern = "url = [^@:/\\s]+@([A-Za-z0-9.-]+):"
    port    = "22"
  }
}

# Over ssh it is ssh's agent that has the keys, never the process itself. It needs
# the host's key in ~/.ssh/known_hosts. Over https give a token with
# env = { GIT_ASKPASS = ..., TOKEN = env("TOKEN") }.
locals { ssh_agent = env("SSH_AUTH_SOCK", "") }

tool "git_push" {
  description = "Push the current branch to the remote of its name. Returns: what git prints."
  risk        = "dangerous"
  param "remote" {
    type    = string
    default = "origin"
    pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$"
  }
  command {
    argv    = ["git", "push", "--porcelain", param.remote, "HEAD"]
    env     = { GIT_TERMINAL_PROMPT = "0", SSH_AUTH_SOCK = local.ssh_agent }
    timeout = "10m"
  }
  network = pack.hosts
  read    = ["~/.ssh/known_hosts"]
  write   = compact([local.ssh_agent])
  reject { params = { remote = "--receive-pack=sh" } }
}

tool "git_fetch" {
  description = "Fetch from a remote. Returns: what git prints."
  risk        = "safe_write"
  param "remote" {
    type    = string
    default = "origin"
    pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$"
  }
  command {
    argv    = ["git", "fetch", param.remote]
    env     = { GIT_TERMINAL_PROMPT = "0", SSH_AUTH_SOCK = local.ssh_agent }
    timeout = "10m"
  }
  network = pack.hosts
  read    = ["~/.ssh/known_hosts"]
  write   = compact([local.ssh_agent])
}
