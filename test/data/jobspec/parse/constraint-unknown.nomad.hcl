job "j" {
  constraint {
    atribute = "a"
  }
}
