plugin "wordcount" {
  source = "./toolhost-plugin-wordcount"
}

toolset "words" {
  tools = ["count_words"]
}
