permissions {
  grant = ["file_reed", ""]
}

permissions {
  deny = ["shell_exec"]
}
