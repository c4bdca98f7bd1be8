tool "a" {
  description = "x"
  command {
    argv = ["echo"]
  }

tool "b" {
  descripton = "y"
  command { argv = ["echo", local.a, local.b] }
}
