pack {
  description = "Ask a MySQL or MariaDB database, on localhost unless you say another"
  needs       = ["mysql"]
  hosts       = ["localhost:3306"]
}
# Give it a user that can only read: what SQL may do is the server's to say. The
# password comes from toolhost's environment and reaches this process alone.
tool "mysql" {
  description = "Ask the database with one SELECT. Returns: rows, separated by tabs, with a header."
  risk        = "read_only"
  param "database" {
    type    = string
    pattern = "^[A-Za-z0-9_]+$"
  }
  param "sql" {
    type    = string
    pattern = "^(?:SELECT|WITH|SHOW|EXPLAIN|select|with|show|explain)\\s[^\\\\]*$"
  }
  command {
    argv    = ["mysql", "--no-defaults", "--batch", "--host=127.0.0.1", "--user=reader", "--execute=${param.sql}", param.database]
    env     = { MYSQL_PWD = env("MYSQL_PWD", "") }
    timeout = "1m"
  }
  network = pack.hosts
  example { params = { database = "shop", sql = "SELECT 1" } }
  reject { params = { database = "shop", sql = "SELECT 1 \\! id" } }
}
