tool "a" {
  description = "never closed
  command { argv = ["echo"] }
}

plugin "b" {
  args = ["x"]
}
