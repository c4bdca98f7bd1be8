pack {
  description = "Ask an SQLite database of the project"
  needs       = ["sqlite3"]
  detect      = ["*.db", "*.sqlite", "*.sqlite3"]
}

tool "sqlite3" {
  description = "Ask a database with one SELECT. Returns: a list of rows."
  risk        = "read_only"
  param "database" {
    type = string
    path = "read"
  }
  param "sql" {
    type    = string
    pattern = "^(?:SELECT|WITH|EXPLAIN|select|with|explain)\\s"
  }
  command {
    argv    = ["sqlite3", "-readonly", "-safe", "-bail", "-json", param.database, param.sql]
    timeout = "30s"
  }
  output {
    type  = "json"
    empty = "[]" # nothing is printed when there is no row
  }
  example { params = { database = "app.db", sql = "SELECT 1" } }
  reject { params = { database = "app.db", sql = ".shell id" } }
}
