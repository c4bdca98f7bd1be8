resource "empty" {
  uri = "x:y"
}
resource "twice" {
  uri  = "x:y"
  text = "a"
  data = "YQ=="
  watch = true
}
resource "no scheme" {
  uri  = "note"
  text = "a"
}
resource "templates" {
  uri  = "note://{id}/{id}"
  text = "${param.idd}"
}
resource "variables" {
  uri = "note://{id}"
  param "idd" {}
  param "id" { type = string }
  text = "${param.idd}"
  mime = "text"
}
resource "reserved" {
  uri = "toolhost://x"
  command { argv = ["true"] }
  text = "both"
}
resource "spaces" {
  uri  = "note://a b"
  text = "x"
}

prompt "silent" {
  argument "unused" {}
  argument "unused" {}
}
prompt "wrong" {
  argument "a" {
    required = true
    default  = "x"
  }
  argument "b" { type = integer }
  argument "area" { complete = { are = { x = ["y"] }, b = ["z"], a = { x = "y" } } }
  message {
    role = "system"
    text = "${param.a} ${param.c}"
  }
  message { type = "image" }
  message { type = "json" }
}

toolset "mine" {
  tools     = ["head"]
  resources = ["emty"]
  prompts   = ["nothing"]
}
