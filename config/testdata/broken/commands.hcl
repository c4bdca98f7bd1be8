tool "both" {
  description = "Two ways to run."
  passthrough { command = "head" }
  command { argv = ["head"] }
}

tool "neither" {
  description = "No way to run."
}

tool "caller_chooses" {
  description = "A program named by the caller."
  param "program" {}
  command { argv = [param.program] }
}

tool "empty" {
  description = "No program."
  command { argv = [] }
}

tool "missing" {
  description = "No argv."
  command {}
}

tool "functions" {
  description = "What cannot be done at call time."
  param "name" {}
  param "on" { type = bool }
  param "list" { type = list(string) }
  command {
    argv = [
      "echo",
      upper(param.name),
      param.name == "x" ? "-x" : null,
      param.list[0],
      param.name + 1,
      [for x in param.list : "-${x}"],
      param.name ? "a" : "b",
      param.on ? parm.name : local.nothing,
      param,
    ]
    env   = { "A=B" = "x", OK = lower(param.name) }
    stdin = ["not", "text"]
  }
}

tool "nondescript" {
  passthrough { command = "true" }
}

tool "args" {
  description = "Params with a passthrough, and the wrong kinds of example."
  param "x" {}
  passthrough { command = "head" }
  example { params = {} }
}

tool "typed" {
  description = "The other way round."
  command { argv = ["true"] }
  reject { args = "-x" }
}
