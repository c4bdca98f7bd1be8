policy {
  dangerous   = "maybe"
  read_olny   = "allow"
  permissions = { netwrok = "deny", shell_exec = "aks" }

  rule "empty" {
    action = "allow"
  }
  rule "broken" {
    tool    = "x"
    params  = "(("
    expires = "tomorrow"
    risk    = "high"
  }
  rule "empty" {
    tool   = "y"
    action = "deny"
  }
}

sandbox {
  level   = "ful"
  network = "off"
}

sandbox {
  level = "off"
}
