tool "chart" {
  description   = "Draw a chart."
  params_schema = <<-JSON
    {
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "type": "object",
      "$defs": { "point": { "$anchor": "p", "type": "object", "properties": { "x": { "type": "number" } } } },
      "properties": {
        "to": { "type": "string" },
        "points": { "type": "array", "items": { "$ref": "#/$defs/point" } },
        "n": { "type": "integer" },
        "log": { "type": "boolean" }
      },
      "required": ["to"]
    }
  JSON
  param "to" { path = "write" }

  ask "style" {
    message = "Which style for ${param.to}?"
    field "color" {
      title  = "Color"
      enum   = ["r", "g"]
      titles = ["Red", "Green"]
    }
    field "width" {
      type    = integer
      min     = 1
      max     = 9
      default = 2
    }
    field "marks" {
      type     = list(string)
      enum     = ["dot", "line"]
      required = false
      default  = ["dot"]
    }
    field "mail" {
      format   = "email"
      required = false
    }
  }
  ask "title" {
    optional = true
    model {
      prompt     = "A title for ${param.to}."
      system     = "Be brief."
      max_tokens = 20
    }
  }
  ask "dirs" { roots = true }
  ask "free" {
    message = "Anything else?"
    form    = { type = "object", properties = { e = { type = "string", enum = ["a"], enumNames = ["A"] } } }
  }

  command {
    argv   = ["chart", param.log ? "--log" : null, "--color=${ask.style.color}", ask.dirs.roots, ask.free.e, "--", param.to]
    env    = { TITLE = ask.title.text }
    stdin  = param
    report = "chart:"
  }
  output { text = "Drawn: ${param.to}" }
  output {
    type = "image"
    mime = "image/png"
    file = param.to
  }
  output {
    type   = "audio"
    mime   = "audio/wav"
    base64 = true
  }
  output {
    type = "resource"
    uri  = "chart://${param.to}"
    data = "AAEC"
  }
}

tool "facts" {
  description = "Facts."
  command { argv = ["facts"] }
  output {
    type   = "json"
    schema = { type = "object", properties = { n = { type = "integer" } } }
  }
}
