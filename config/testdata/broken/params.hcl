tool "a" {
  description = "Params that contradict themselves."
  param "1 bad name" { type = string }
  param "n" {
    type    = integer
    min     = 5
    max     = 2
    pattern = "^x"
  }
  param "m" {
    type    = integer
    max     = 3
    default = 9
  }
  param "s" {
    type    = "string"
    pattern = "(["
    path    = "red"
  }
  param "l" {
    type    = list(strin)
    default = [1]
  }
  param "b" {
    type = bool
    min  = 1
    default = "yes"
  }
  param "b" { type = bool }
  param "e" {
    enum    = ["red", "green"]
    default = "gren"
  }
  param "unused" {}
  command {
    argv = ["x", param.n, param.m, param.s, param.l, param.b ? "-b" : null, param.e]
  }
}
