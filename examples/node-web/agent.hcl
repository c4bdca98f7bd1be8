instructions = "A web service over a SQLite database. Run the command db once, check after every change."

workspace {
  protect = ["db/schema.sql"] # people change the schema
}

# list_commands and run_command: db, test, check.
taskfile { path = "Taskfile.yml" }

# The database, to read. SQLite opens it read-only, -safe keeps SQL and dot
# commands from other files, and read_only lets the process change nothing.
tool "query_db" {
  description = "Ask the database with one SELECT. Returns: a list of rows."
  risk        = "read_only"
  param "sql" {
    description = "Such as SELECT * FROM bookmarks LIMIT 5."
    type        = string
    pattern     = "^(?:SELECT|WITH|EXPLAIN|select|with|explain)\\s"
  }
  command {
    argv    = ["sqlite3", "-readonly", "-safe", "-bail", "-json", "db/app.db", param.sql]
    timeout = "10s"
  }
  output {
    type  = "json"
    empty = "[]" # sqlite3 prints nothing when there is no row
  }
  example { params = { sql = "SELECT tag, count(*) AS n FROM bookmarks GROUP BY tag" } }
  reject { params = { sql = "DELETE FROM bookmarks" } }
  reject { params = { sql = ".shell id" } }
}

tool "db_schema" {
  description = "Show the tables of the database. Returns: their CREATE statements."
  risk        = "read_only"
  command { argv = ["sqlite3", "-readonly", "-safe", "db/app.db", ".schema"] }
}

# Tests keep their database in TMPDIR. As read_only they cannot change the project.
tool "run_tests" {
  description = "Run the tests. Returns: the report of Node's test runner."
  risk        = "read_only"
  param "name" {
    description = "Run only tests whose name matches this regular expression."
    type        = string
    default     = null
  }
  command {
    argv    = ["node", "--test", "--test-reporter=tap", "--test-name-pattern=${param.name}"]
    timeout = "5m"
  }
  example { params = { name = "once" } }
}

tool "lint" {
  description = "Check JavaScript files, all of them unless some are named. Returns: one line per mistake."
  risk        = "read_only"
  param "files" {
    type    = list(string)
    default = []
    path    = "read"
  }
  command { argv = ["node", "scripts/lint.js", param.files] }
  example { params = { files = ["src/app.js"] } }
  reject { params = { files = ["../other.js"] } }
}

# For a client that only looks: toolhost serve --toolset review
toolset "review" {
  tools = ["read_file", "rg", "git_diff", "query_db", "db_schema", "run_tests", "lint"]
}
