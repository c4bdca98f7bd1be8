tool "output" {
  description = "Wrong outputs."
  param "x" {}
  command { argv = ["true", param.x] }
  output { type = "picture" }
  output { type = "image" }
  output {
    type = "audio"
    mime = "image/png"
    text = "no sound"
  }
  output {
    type = "resource"
    text = "a"
    file = "b"
  }
  output { uri = "x:y" }
  output {
    data   = "%%%"
    base64 = true
  }
  output { txt = "${param.y}" }
  output {
    type   = "json"
    schema = { type = "array" }
  }
  output { type = "json" }
}

tool "schema" {
  description   = "Wrong schemas."
  params_schema = <<-JSON
    { "type": "object", "properties": { "name": { "type": "string", "pattern": "(" } } }
  JSON
  command { argv = ["true"] }
}

tool "no_json" {
  description   = "No JSON."
  params_schema = "{ type: object }"
  command { argv = ["true", param.a] }
}

tool "annotated" {
  description   = "Params beside a schema."
  params_schema = { type = "object", properties = { file = { type = "string" } } }
  param "fil" { path = "read" }
  param "file" { type = string }
  command { argv = ["true", param.file] }
}

tool "ask" {
  description = "Wrong questions."
  ask "login" {
    message = "Who are you?"
    field "user" { type = strin }
    field "password" {}
    field "user" { format = "phone" }
    field "pick" { type = list(string) }
    field "colour" {
      enum   = ["a", "b"]
      titles = ["A"]
    }
  }
  ask "login" { roots = true }
  ask "silent" {}
  ask "both" {
    message = "x"
    roots   = true
    model { prompt = "y" }
  }
  ask "nested" {
    message = "x"
    form    = { type = "object", properties = { api_key = { type = "string" }, deep = { type = "object" } } }
  }
  command {
    argv = ["true", ask.logn.user, ask.login.usr, ask.login, ask.login.user]
    env  = { N = upper(ask.login.user) }
  }
}

tool "pass" {
  description = "A question before a passthrough."
  ask "sure" { message = "Sure?" }
  passthrough { command = "true" }
}

locals { early = ask.login.user }
