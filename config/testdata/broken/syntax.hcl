workspace {
  root = "."
  allow = ["a", "b"
}

tool "x" {
  description = "unterminated
}
