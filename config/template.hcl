# What agents get in this project besides the standard tools; toolhost list
# shows all, toolhost validate checks this file, toolhost fmt lays it out.

# PROJECT

# A tool of your own, with typed parameters. No shell has a part in it.
# tool "lint" {
#   description = "Check the formatting. Returns: the files that are not formatted."
#   risk        = "read_only"
#   command { argv = ["gofmt", "-l", "."] }
# }
#
# To change a standard wrapper, declare it: toolhost describe --hcl head prints
# its block. Other blocks: workspace, plugin, mcp, toolset, policy, sandbox.
