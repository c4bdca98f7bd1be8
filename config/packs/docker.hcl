pack {
  description = "Look at containers, images and logs of Docker"
  needs       = ["docker"]
  detect      = ["Dockerfile", "Containerfile"]
}
# A program that reaches this socket can do all that Docker can, so only these arguments
# pass, and no others. It takes sandbox level full.
tool "docker_ps" {
  description = "List the containers. Returns: a line for each."
  risk        = "read_only"
  command {
    argv    = ["docker", "ps", "--all"]
    timeout = "10m"
  }
  write = ["/var/run/docker.sock"]
}

tool "docker_images" {
  description = "List the images. Returns: a line for each."
  risk        = "read_only"
  command {
    argv    = ["docker", "images"]
    timeout = "10m"
  }
  write = ["/var/run/docker.sock"]
}

tool "docker_logs" {
  description = "Show the last lines that a container printed. Returns: the lines."
  risk        = "read_only"
  param "container" {
    type    = string
    pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]*$"
  }
  param "lines" {
    type    = integer
    default = 100
    min     = 1
  }
  command {
    argv    = ["docker", "logs", "--tail=${param.lines}", "--", param.container]
    timeout = "10m"
  }
  write = ["/var/run/docker.sock"]
  example { params = { container = "web" } }
}

tool "docker_inspect" {
  description = "Show how a container or an image is made. Returns: JSON."
  risk        = "read_only"
  param "name" {
    type    = string
    pattern = "^[A-Za-z0-9][A-Za-z0-9_.:/-]*$"
  }
  command {
    argv    = ["docker", "inspect", "--", param.name]
    timeout = "10m"
  }
  write = ["/var/run/docker.sock"]
  example { params = { name = "web" } }
}
