job "j" {
  ui {
    description = "x"
  }
}
