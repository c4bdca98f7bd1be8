# A tool for every kind of result; .ci/results.mjs calls them with real clients.

tool "array" {
  description = "Give an array. Returns: two numbers."
  risk        = "read_only"
  command { argv = ["printf", "%s", "[1, 2.50]"] }
  output { type = "json" }
}

tool "scalar" {
  description = "Give a number. Returns: it."
  risk        = "read_only"
  command { argv = ["printf", "%s", "7.5"] }
  output { type = "json" }
}

tool "empty_array" {
  description = "Give an empty array. Returns: it."
  risk        = "read_only"
  command { argv = ["printf", "%s", "[]"] }
  output { type = "json" }
}

tool "nothing" {
  description = "Give null. Returns: it."
  risk        = "read_only"
  command { argv = ["printf", "null"] }
  output { type = "json" }
}

tool "json_nul" {
  description = "Give a string with a NUL. Returns: it."
  risk        = "read_only"
  command { argv = ["printf", "%s", "[\"a\\u0000b\"]"] }
  output { type = "json" }
}

tool "ten_mb_array" {
  description = "Give an array of 10 MB. Returns: it."
  risk        = "read_only"
  command { argv = ["sh", "-c", "printf '[\"'; head -c 10000000 /dev/zero | tr '\\0' x; printf '\"]'"] }
  output { type = "json" }
}

tool "object" {
  description = "Give what its schema says. Returns: a name."
  risk        = "read_only"
  param "word" {
    type    = string
    default = "x"
    pattern = "(?i)^[a-z]+\\z"
  }
  command { argv = ["printf", "%s", "{\"name\":\"${param.word}\"}"] }
  output {
    type   = "json"
    schema = { type = "object", properties = { name = { type = "string", pattern = "^\\PN*$" } }, required = ["name"] }
  }
}

tool "promised" {
  description = "Print nothing where the schema promises an object. Returns: an error."
  risk        = "read_only"
  command { argv = ["true"] }
  output {
    type   = "json"
    schema = { type = "object" }
  }
}

tool "json_not_utf8" {
  description = "Give JSON in Latin-1. Returns: it."
  risk        = "read_only"
  command { argv = ["printf", "{\"a\":\"caf\\351\"}"] }
  output { type = "json" }
}

tool "empty" {
  description = "Print nothing. Returns: nothing."
  risk        = "read_only"
  command { argv = ["true"] }
}

tool "ten_mb" {
  description = "Print 10 MB. Returns: them."
  risk        = "read_only"
  command { argv = ["sh", "-c", "head -c 10000000 /dev/zero | tr '\\0' x"] }
  output { type = "text" }
}

tool "long" {
  description = "Print more than is shown. Returns: its ends."
  risk        = "read_only"
  command { argv = ["seq", "1", "100000"] }
}

tool "not_utf8" {
  description = "Print Latin-1. Returns: it."
  risk        = "read_only"
  command { argv = ["printf", "caf\\351"] }
}

tool "nul" {
  description = "Print a NUL. Returns: it."
  risk        = "read_only"
  command { argv = ["printf", "a\\000b"] }
}
