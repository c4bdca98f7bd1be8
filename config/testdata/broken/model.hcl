model {
  url        = "http://models.example/v1"
  model      = ""
  key        = "sk-written-out"
  timeout    = "soon"
  max_tokns  = 100
  headers    = { A = ["x"] }
}

model {
  url = "http://127.0.0.1:11434/v1"
}
