sandbox {
  network = []
}
variable "hosts" {
  default = "deny"
}
taskfile {
  network = var.hosts
}
tool "lint" {
  description = "Lint."
  network     = ["registry.example.org", "https://example.com/a", "*.example.com:8443"]
  command { argv = ["lint"] }
}
tool "test" {
  description = "Test."
  network     = "registry.example.org"
  command { argv = ["test"] }
}
agent {
  command = ["x"]
  network = concat(["a.example"], ["*"])
}
plugin "p" {
  source  = "./p"
  network = ["db:70000"]
}
mcp "m" {
  command = ["m"]
  network = true
}
