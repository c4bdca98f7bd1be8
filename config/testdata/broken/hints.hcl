# What a person writes by habit; the suggestion must be what is right here.
limits {
  output  = 65536
  timeout = 5
}

sandbox {
  network = true
}

locals {
  c = file("x")
}

tool "x" {
  description = "x. Returns: y."

  param "a" { type = int }
  param "b" { type = boolean }
  param "c" { type = str }
  param "d" { type = object }
  param "e" { type = float }
  param "f" { type = array }
  param "g" {
    type = string
    enum = []
  }
  param "h" {
    type = string
    enum = ["x", "y", "x"]
  }

  command {
    argv    = ["ls", param.a, param.b, param.c, param.d, param.e, param.f, param.g, param.h]
    timeout = 30
    success = 0
  }
}

tool "y" {
  description = "y. Returns: y."
  command {
    argv    = ["ls"]
    success = ["ok", 1.5]
  }
}

tool "z" {
  description = "z. Returns: y."
  command {
    argv    = ["ls"]
    success = [0, 256]
  }
}

resource "note" {
  uri  = "note://{id}"
  file = "notes/${param.name}.md"
}

prompt "review" {
  message { text = "Review ${param.what}." }
}

policy {
  rule {
    tool   = "rg"
    action = "deny"
  }
}
