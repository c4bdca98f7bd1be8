pack {
  description = "Build and test a Gradle project, and download what it needs"
  needs       = ["gradle"]
  detect      = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"]
  init        = 22
  try         = "toolhost call gradle_run tasks=[\"test\"]"
  first       = "toolhost call gradle_download"
  note        = "the hosts of your repositories of packages and plugins"
}

tool "gradle_run" {
  description = "Run tasks of the project, such as test or build. Returns: what Gradle prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "tasks" {
    type    = list(string)
    pattern = "^[A-Za-z:][A-Za-z0-9:_-]*$"
    min     = 1
  }
  command {
    argv    = ["gradle", "--offline", "--no-daemon", "--console=plain", "--gradle-user-home=.gradle/home", param.tasks]
    timeout = "10m"
  }
  example { params = { tasks = ["test"] } }
  reject { params = { tasks = ["--init-script=x"] } }
}

tool "gradle_download" {
  description = "Build once with the network, so that later builds have what they need. Returns: what Gradle prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  command {
    argv    = ["gradle", "--no-daemon", "--console=plain", "--gradle-user-home=.gradle/home", "assemble", "testClasses"]
    timeout = "10m"
  }
  network = pack.hosts
}
