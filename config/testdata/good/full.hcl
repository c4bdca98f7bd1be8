workspace {
  root    = "."
  allow   = ["../shared-lib", "/opt/data", "~/notes"]
  protect = [".git/**", "**/.env"]
}

variable "verbose" {
  description = "Whether to say more."
  default     = false
}
variable "key" {
  default   = "k-default"
  sensitive = true
}
variable "tags" { default = ["a", "b"] }

locals {
  src   = "src"
  flags = ["-v", "--count=${local.n}"]
  n     = 1 + 2
  deep  = { list = [local.src, upper(local.src)] }
  dirs  = [for d in ["a", "b"] : "${d}/x"]
}

tool "head" {
  title       = "Head"
  description = "Show the first lines of a file."
  risk        = "read_only"
  permissions = ["file_read"]
  network     = "deny"
  passthrough {
    command = "head"
    prepend = ["-q"]
    forbid  = ["--follow"]
    unknown = "refuse"
    number  = true
    option "-n" "--lines" { value = "number" }
    option "--backup" {
      value    = "string"
      optional = true
    }
    option "-f -F" { refuse = "it never ends" }
    operands {
      type = "read"
      last = "write"
      into = true
      min  = 1
      max  = 9
    }
    timeout = "30s"
    success = [0, 1]
  }
  example {
    description = "The beginning."
    args        = "-n 20 README.md"
  }
  reject { args = "-f x" }
}

tool "count" {
  description = <<-EOT
    Count things
      below a directory.
  EOT
  risk    = "safe_write"
  network = "allow"
  read    = ["/usr/share/dict"]
  write   = ["./out"]

  param "dir" {
    description = "Where."
    default     = "."
    path        = "read"
  }
  param "depth" {
    type    = integer
    min     = 1
    max     = 9
    default = 3
  }
  param "ratio" {
    type    = number
    default = null
  }
  param "all" {
    type    = bool
    default = false
  }
  param "names" {
    type    = list(string)
    enum    = ["x", "y"]
    min     = 0
    max     = 2
    default = []
  }
  param "ids" { type = list(integer) }
  param "color" {
    enum    = ["red", "green"]
    pattern = "^[a-z]+$"
    dash    = true
  }

  command {
    argv = concat(
      ["count", local.flags, "--src=${local.src}/${param.dir}", param.ids],
      local.dirs,
      [param.names, "${param.depth}", param.all ? "--all" : null],
      [!param.all ? "--some=${param.color}" : "", 5, true, var.verbose ? "-v" : "-q"],
    )
    env = {
      LC_ALL = "C"
      TOKEN  = env("TOKEN")
      DIR    = param.dir
      "R-1"  = "${param.ratio}"
    }
    stdin   = "depth %{if param.all}all%{else}${param.depth}%{endif}\n"
    timeout = "1m30s"
    success = [0]
  }
  example { params = { dir = "x", ids = [1], color = "red" } }
  reject { params = { depth = 10 } }
}

plugin "weather" {
  source        = "./bin/weather"
  sha256        = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
  args          = ["--fast"]
  env           = { KEY = var.key, LEVEL = upper("info") }
  prefix        = "w_"
  timeout       = "10s"
  start_timeout = "3s"
  permissions   = ["network", "weather"]
  network       = "allow"
  read          = ["/etc/ssl"]
  write         = []
  config {
    units = "metric"
    key   = "Bearer ${var.key}"
    nested { depth = 1 }
    city "bern" { zip = 3000 }
    city "basel" { zip = 4000 }
  }
}

mcp "github" {
  command  = ["github-mcp-server", "stdio"]
  env      = { TOKEN = env("TOKEN"), OTHER = env("UNSET", "none") }
  prefix   = "gh_"
  include  = ["get_*"]
  exclude  = ["get_secret"]
  risk     = { "get_*" = "read_only", "*" = "dangerous" }
  start_timeout = "45s"
  timeout  = "20s"
  protocol = "2025-11-25"
  roots    = ["/srv/docs", "docs"]
  network  = "allow"
}

mcp "remote" {
  url     = "https://example.com/mcp"
  headers = { Authorization = "Bearer ${upper(env("TOKEN"))}" }
}

mcp "machine" {
  url = "https://machine.example.com/mcp"
  oauth {
    grant         = "client_credentials"
    client_id     = "toolhost"
    client_secret = env("TOKEN")
    issuer        = "https://login.example.com"
    scopes        = ["read", "write:all"]
    private       = true
  }
}

mcp "person" {
  url = "http://localhost:3000/mcp"
  oauth {
    client_id          = "toolhost"
    client_secret_file = "secret"
    issuer             = "http://127.0.0.1:3001"
    redirect_port      = 8765
  }
}

mcp "workload" {
  url = "https://workload.example.com/mcp"
  oauth {
    grant            = "jwt_bearer"
    client_id        = "toolhost"
    private_key_file = "~/key.pem"
    assertion_file   = "/run/token"
    issuer           = "https://login.example.com"
  }
}

taskfile {
  path    = ".agent/Taskfile.yml"
  timeout = "5m"
  network = "allow"
  read    = ["/go"]
}

toolset "review" {
  tools  = ["read_file", "rg", "count"]
  rename = { read_file = "cat" }
}

builtin "edit_file" { unescape = "fallback" }

policy {
  read_only   = "allow"
  dangerous   = "ask"
  permissions = { network = "deny" }
  rule "text files" {
    tool    = "create_file"
    params  = "^\\{\"path\":\"[^\"]*\\.txt\""
    action  = "allow"
    expires = "2027-01-01T00:00:00Z"
  }
  rule "push" {
    command    = "git push"
    permission = "shell_exec"
    risk       = "dangerous"
    action     = "deny"
    disabled   = true
    reason     = "Ask a person."
  }
}

sandbox {
  level   = "full"
  network = "deny"
  read    = ["/opt"]
  write   = ["~/cache"]
  mask    = ["~/.ssh"]
}

web {
  allow    = ["127.0.0.1", "10.0.0.0/8", "intranet.example"]
  timeout  = "15s"
  max_size = "2MiB"
  search   = "http://127.0.0.1:8888/html/"
}

limits {
  output    = "64KiB"
  timeout   = "2m"
  processes = 8
}

model {
  url        = "https://models.example/v1"
  model      = "small"
  key        = env("TOKEN")
  headers    = { "X-Team" = "a" }
  private    = true
  timeout    = "90s"
  max_tokens = 2000
}

agent {
  command = ["claude", "-p"]
  network = "allow"
}

agent "reviewer" {
  description = "Reads changes."
  command     = ["codex", "exec", "{prompt}", "--json"]
  prompt      = "argument"
  env         = { CODEX_HOME = "/opt/codex" }
  timeout     = "20m"
  network     = "allow"
  read        = ["/opt/codex"]
}

permissions {
  grant = ["file_read", "file_write", "deploy"]
}
