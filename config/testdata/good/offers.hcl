resource "readme" {
  uri         = "doc://readme"
  title       = "Read me"
  description = "What this is."
  mime        = "text/markdown"
  file        = "README.md"
  watch       = true
}

resource "note" {
  uri  = "note://{dir}/{+name}"
  mime = "text/plain"
  param "dir" {
    enum     = ["a", "b"]
    complete = ["a"]
  }
  param "name" {
    description = "Which."
    path        = "read"
    pattern     = "^[a-z/]+$"
    min         = 1
    max         = 20
  }
  file = "notes/${param.dir}/${param.name}"
}

resource "log" {
  uri     = "log://{n}"
  mime    = "application/octet-stream"
  base64  = true
  risk    = "dangerous"
  network = "allow"
  command {
    argv    = ["tail", "-n", param.n, "app.log"]
    timeout = "5s"
  }
}

resource "logo" {
  uri  = "img://logo"
  mime = "image/gif"
  data = "R0lGODlh"
}

prompt "review" {
  title       = "Review"
  description = "Review a file."
  argument "file" {
    title       = "File"
    description = "Which one."
    path        = "read"
  }
  argument "tone" {
    default  = "kind"
    complete = ["kind", "strict"]
  }
  argument "extra" { required = false }
  argument "area" {
    required = false
    complete = { tone = { kind = ["names", "tests"], "very strict" = ["locks"] } }
  }
  ask "focus" {
    message = "What matters in ${param.file}?"
    field "what" {}
  }
  message { text = "Review ${param.file}, be ${param.tone}. ${ask.focus.what}" }
  message {
    type = "resource"
    uri  = "file:///${param.file}"
    file = param.file
  }
  message {
    role = "assistant"
    text = "Fine. ${param.extra}"
  }
}

toolset "docs" {
  tools     = ["read_file"]
  resources = ["readme"]
  prompts   = ["review"]
}
