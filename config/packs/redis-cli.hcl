pack {
  description = "Read from Redis, on localhost unless you say another"
  needs       = ["redis-cli"]
  hosts       = ["localhost:6379"]
}

tool "redis" {
  description = "Read from Redis with one command. Returns: what it answers."
  risk        = "read_only"
  param "command" {
    type = string
    enum = ["GET", "MGET", "TYPE", "TTL", "EXISTS", "STRLEN", "HGET", "HGETALL", "HKEYS", "LRANGE", "LLEN", "SMEMBERS", "SCARD", "ZRANGE", "ZCARD", "SCAN", "DBSIZE", "INFO"]
  }
  param "args" {
    type    = list(string)
    default = []
  }
  command {
    argv    = ["redis-cli", "-h", "127.0.0.1", "--raw", param.command, param.args]
    env     = { REDISCLI_AUTH = env("REDISCLI_AUTH", "") }
    timeout = "30s"
  }
  network = pack.hosts
  example { params = { command = "GET", args = ["key"] } }
  reject { params = { command = "FLUSHALL" } }
}
