pack {
  description = "Look at the objects and logs of a Kubernetes cluster"
  needs       = ["kubectl"]
  note        = "the cluster's address: kubectl cluster-info"
  setting { command = ["kubectl", "config", "view", "--minify"] }
}
# The login in ~/.kube/config counts: one that can only read is enough.
tool "kubectl_get" {
  description = "List objects of a kind, or show one of them. Returns: a table, or YAML for one."
  risk        = "read_only"
  param "kind" {
    type    = string
    pattern = "^(pods|pod|deployments|deployment|services|service|nodes|node|events|jobs|job|configmaps|configmap|ingresses|ingress|namespaces|namespace)$"
  }
  param "name" {
    type    = string
    default = null
    pattern = "^[a-z0-9][a-z0-9.-]*$"
  }
  param "namespace" {
    type    = string
    default = "default"
    pattern = "^[a-z0-9-]+$"
  }
  param "output" {
    type    = string
    default = "wide"
    enum    = ["wide", "yaml", "json"]
  }
  command {
    argv    = ["kubectl", "get", param.kind, param.name, "--namespace=${param.namespace}", "--output=${param.output}"]
    timeout = "10m"
  }
  network = pack.hosts
  read    = ["~/.kube/config"]
  example { params = { kind = "pods" } }
  reject { params = { kind = "secrets" } }
}

tool "kubectl_logs" {
  description = "Show the last lines that a pod printed. Returns: the lines."
  risk        = "read_only"
  param "pod" {
    type    = string
    pattern = "^[a-z0-9][a-z0-9.-]*$"
  }
  param "namespace" {
    type    = string
    default = "default"
    pattern = "^[a-z0-9-]+$"
  }
  param "lines" {
    type    = integer
    default = 100
    min     = 1
  }
  command {
    argv    = ["kubectl", "logs", "--tail=${param.lines}", "--namespace=${param.namespace}", param.pod]
    timeout = "10m"
  }
  network = pack.hosts
  read    = ["~/.kube/config"]
  example { params = { pod = "web-1" } }
}

tool "kubectl_describe" {
  description = "Show a pod or another object with its events. Returns: its description."
  risk        = "read_only"
  param "kind" {
    type = string
    enum = ["pod", "deployment", "service", "node", "job"]
  }
  param "name" {
    type    = string
    pattern = "^[a-z0-9][a-z0-9.-]*$"
  }
  param "namespace" {
    type    = string
    default = "default"
    pattern = "^[a-z0-9-]+$"
  }
  command {
    argv    = ["kubectl", "describe", param.kind, param.name, "--namespace=${param.namespace}"]
    timeout = "10m"
  }
  network = pack.hosts
  read    = ["~/.kube/config"]
  example { params = { kind = "pod", name = "web-1" } }
}
