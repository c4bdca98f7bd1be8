tool "wrap" {
  description = "A wrapper with mistakes."
  passthrough {
    comand  = "cp"
    unknown = "alow"
    forbid  = ["symbolic-link"]
    option "-r" "--recursive" { valu = "x" }
    option "-S" "--suffix" { value = "strng" }
    option "-r" {}
    option {}
    option "-f" { optional = true }
    operands {
      typ  = "read"
      into = true
      min  = 3
      max  = 2
    }
    operands {}
    timeout = "30"
    success = ["zero"]
  }
}
