tool "a" {
  description = "xé"
  command { argv = ["echo"] }
}
