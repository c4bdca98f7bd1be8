pack {
  description = "Build and test a Maven project, and download what it needs"
  needs       = ["mvn"]
  detect      = ["pom.xml"]
  init        = 22
  try         = "toolhost call mvn_test"
  first       = "toolhost call mvn_download"
  note        = "the host of your Maven repository"
  setting { file = "~/.m2/settings.xml" }
}

tool "mvn_test" {
  description = "Compile the project and run its tests. Returns: what Maven prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "test" {
    description = "Only the tests of this class, or of CLASS#METHOD."
    type        = string
    default     = null
    pattern     = "^[A-Za-z0-9_.*#]+$"
  }
  command {
    argv    = ["mvn", "-B", "-o", "-q", "-Dmaven.repo.local=target/.m2", "-Dtest=${param.test}", "-Dsurefire.failIfNoSpecifiedTests=false", "test"]
    timeout = "10m"
  }
  example { params = { test = "AppTest" } }
}

tool "mvn_package" {
  description = "Build the project without running its tests. Returns: what Maven prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  command {
    argv    = ["mvn", "-B", "-o", "-q", "-Dmaven.repo.local=target/.m2", "-DskipTests", "package"]
    timeout = "10m"
  }
}

tool "mvn_download" {
  description = "Download the plugins and libraries that the project needs, into target/.m2. Returns: what Maven prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  command {
    argv    = ["mvn", "-B", "-q", "-Dmaven.repo.local=target/.m2", "-DskipTests", "verify"]
    timeout = "10m"
  }
  network = pack.hosts
}
