locals {
  a = local.b
  b = local.a
  c = var.verbos
  d = unquoted
  e = uper("x")
  f = param.x
  g = local
  h = path.rot
  i = "${local.fine} ${local.missing}"
  fine = "x"
  j = format("%99999d", 1)
}

locals {
  d = "again"
}

variable "verbose" { default = false }
variable "needed" { description = "No default." }
variable "from_local" { default = local.fine }
