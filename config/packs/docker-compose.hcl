pack {
  description = "Look at the services and logs of docker compose"
  needs       = ["docker"]
  detect      = ["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"]
}
# A program that reaches this socket can do all that Docker can, so only these arguments
# pass, and no others. It takes sandbox level full.
tool "compose_ps" {
  description = "List the services that run. Returns: a line for each."
  risk        = "read_only"
  command {
    argv    = ["docker", "compose", "ps", "--all"]
    timeout = "10m"
  }
  write = ["/var/run/docker.sock"]
}

tool "compose_logs" {
  description = "Show the last lines that a service printed. Returns: the lines."
  risk        = "read_only"
  param "service" {
    type    = string
    pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]*$"
  }
  param "lines" {
    type    = integer
    default = 100
    min     = 1
  }
  command {
    argv    = ["docker", "compose", "logs", "--no-color", "--tail=${param.lines}", param.service]
    timeout = "10m"
  }
  write = ["/var/run/docker.sock"]
  example { params = { service = "web" } }
}

tool "compose_config" {
  description = "Show the configuration with everything filled in. Returns: YAML."
  risk        = "read_only"
  command {
    argv    = ["docker", "compose", "config", "--no-interpolate"]
    timeout = "10m"
  }
}
