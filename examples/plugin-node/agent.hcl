plugin "slug" {
  source = "./main.js"
  config { separator = "-" }
}
