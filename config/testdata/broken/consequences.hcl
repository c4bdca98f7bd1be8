tool "misspelt" {
  descripton = "Lists. Returns: names."
  comand { argv = ["ls"] }
}

tool "one_text" {
  description = "Lists. Returns: names."
  command { argv = "ls -l" }
}

tool "not_here" {
  description = "Lists. Returns: names."
  argv        = ["ls"]
}

tool "deeper" {
  description = "Lists. Returns: names."
  command {
    argv = ["ls", param.dir]
    param "dir" {}
    description = "There."
    rist = "read_only"
  }
}

tool "bad_item" {
  description = "Lists. Returns: names."
  command { argv = [local.none, var.none, path.x] }
}

tool "still_missing" {
  command { timeout = "5s" }
  limits {}
}

resource "note" {
  uri  = "note://x"
  txt  = "x"
}

option "-n" {}
param "x" { type = string }
argv = ["ls"]
timeout = "5s"

locals {
  one   = local.two
  two   = "${local.three}x"
  three = local.one
  self  = local.self
}

prompt "p" {
  instructions = "x"
  mesage { text = "x" }
}
