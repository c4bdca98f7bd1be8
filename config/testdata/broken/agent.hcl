agent {
  command = []
  prompt  = "file"
}

agent "default" {
  command = ["worker"]
}

agent "a" {
  comand  = ["worker"]
}

agent "b" {
  command = ["worker", "{prompt}"]
  timeout = "soon"
}

agent "c" {
  command = ["{prompt}"]
  prompt  = "argument"
}

agent "d" "e" {
  command = ["worker"]
}

web {
  search = "duckduckgo"
}
