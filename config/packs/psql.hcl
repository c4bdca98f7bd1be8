pack {
  description = "Ask a PostgreSQL database, on localhost unless you say another"
  needs       = ["psql"]
  hosts       = ["localhost:5432"]
}
# Give it a role that can only read: what SQL may do is the server's to say. The
# password comes from toolhost's environment and reaches this process alone.
tool "psql" {
  description = "Ask the database with one SELECT. Returns: CSV with a header."
  risk        = "read_only"
  param "sql" {
    type    = string
    pattern = "^(?:SELECT|WITH|SHOW|EXPLAIN|select|with|show|explain)\\s"
  }
  command {
    argv    = ["psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--csv", "--command=${param.sql}"]
    env     = { PGHOST = "127.0.0.1", PGDATABASE = env("PGDATABASE", "postgres"), PGUSER = env("PGUSER", "postgres"), PGPASSWORD = env("PGPASSWORD", "") }
    timeout = "1m"
  }
  network = pack.hosts
  example { params = { sql = "SELECT 1" } }
  reject { params = { sql = "\\! id" } }
}
