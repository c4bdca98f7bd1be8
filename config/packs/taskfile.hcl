pack {
  description = "Run the commands of a Taskfile"
  detect      = ["Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml"]
  unless      = [".agent/Taskfile.yml"]
  init        = 10
  try         = "toolhost call list_commands"
}

# The commands of this project's Taskfile: list_commands and run_command.
taskfile {
  path = pack.file
}
