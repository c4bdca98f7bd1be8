pack {
  description = "Run tests with PHPUnit"
  needs       = ["php"]
  detect      = ["phpunit.xml", "phpunit.xml.dist"]
  init        = 24
  try         = "toolhost call phpunit"
}

tool "phpunit" {
  description = "Run tests with PHPUnit. Returns: what failed, and a summary."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "name" {
    description = "Only tests whose name matches this regular expression."
    type        = string
    default     = null
  }
  command {
    argv    = ["php", "vendor/bin/phpunit", "--colors=never", "--filter=${param.name}"]
    timeout = "10m"
  }
  example { params = { name = "testAdds" } }
}
