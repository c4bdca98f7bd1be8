pack {
  description = "Build and test .NET projects, and download packages"
  needs       = ["dotnet"]
  detect      = ["*.sln", "*.slnx", "*.csproj", "*.fsproj"]
  init        = 22
  try         = "toolhost call dotnet_test"
  first       = "toolhost call dotnet_restore"
  note        = "the host of your package source"
  setting { command = ["dotnet", "nuget", "list", "source"] }
}

tool "dotnet_restore" {
  description = "Download the packages that the projects need. Returns: what dotnet prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  command {
    argv    = ["dotnet", "restore"]
    env     = { DOTNET_CLI_TELEMETRY_OPTOUT = "1", NUGET_PACKAGES = ".nuget" }
    timeout = "10m"
  }
  network = pack.hosts
}

tool "dotnet_build" {
  description = "Build, without the network. Returns: what dotnet prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  command {
    argv    = ["dotnet", "build", "--no-restore"]
    env     = { DOTNET_CLI_TELEMETRY_OPTOUT = "1", NUGET_PACKAGES = ".nuget" }
    timeout = "10m"
  }
}

tool "dotnet_test" {
  description = "Run the tests, without the network. Returns: what dotnet prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "filter" {
    description = "Such as Name~Adds."
    type        = string
    default     = null
  }
  command {
    argv    = ["dotnet", "test", "--no-restore", "--filter=${param.filter}"]
    env     = { DOTNET_CLI_TELEMETRY_OPTOUT = "1", NUGET_PACKAGES = ".nuget" }
    timeout = "10m"
  }
  example { params = { filter = "Name~Adds" } }
}
