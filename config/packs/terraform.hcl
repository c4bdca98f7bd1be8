pack {
  description = "Check, lay out and plan a Terraform configuration; it applies nothing"
  needs       = ["terraform"]
  detect      = ["*.tf"]
  note        = "the hosts of your provider and of the state"
}

tool "terraform_validate" {
  description = "Check the configuration. Returns: the mistakes."
  risk        = "safe_write"
  command {
    argv    = ["terraform", "validate", "-no-color"]
    timeout = "10m"
  }
}

tool "terraform_fmt" {
  description = "Lay out the configuration. Returns: the files that were changed."
  risk        = "safe_write"
  command {
    argv    = ["terraform", "fmt", "-recursive"]
    timeout = "10m"
  }
}

tool "terraform_plan" {
  description = "Show what apply would change, and change nothing. Returns: the plan."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  command {
    argv    = ["terraform", "plan", "-no-color", "-input=false", "-lock=false"]
    timeout = "10m"
  }
  network = pack.hosts
}
