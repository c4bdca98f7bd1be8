# Mistakes in several tools are told at once.
tool "first" {
  description = "One."
  risk        = "read_onyl"
  descripton  = "Twice, misspelt."
  passthrough { command = "head" }
}

tool "second" {
  description = 5
  param "count" {
    type    = integr
    default = "many"
  }
  command { argv = ["head", "-n", param.cuont, param.count] }
}

tol "third" {}

tool "first" {
  description = "Again."
  passthrough { command = "tail" }
}
