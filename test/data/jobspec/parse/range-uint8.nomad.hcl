job "j" {
  spread {
    attribute = "x"
    target "a" {
      percent = -1
    }
  }
}
