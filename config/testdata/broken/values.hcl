limits {
  output    = "64 kilobytes"
  timeout   = "soon"
  processes = -1
}

limits { output = "1MiB" }

web { allow = ["http://localhost", "10.0.0.0/8", "localhost"] }

taskfile {
  path    = ""
  timeout = "0s"
  network = true
}

builtin "edit_fil" { unescape = "never" }
builtin "edit_file" { unescape = "fall_back" }

workspace {
  protect = ["[a", "ok/**"]
  allow   = "not-a-list"
}
