# The tools of the workspace "scratch".
workspace {
  root = "."
}
