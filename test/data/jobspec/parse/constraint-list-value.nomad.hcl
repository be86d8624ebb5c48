job "j" {
  constraint {
    attribute = ["a"]
  }
}
