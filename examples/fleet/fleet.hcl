# Which workspaces there are and who may use them: docs/FLEET.md.
workspace "scratch" {
  empty  = true
  config = "/etc/toolhost/agent.hcl" # on the workers
}

tenant "team-a" {
  token_file = "/run/secrets/team-a.token"
  calls      = 50
}
