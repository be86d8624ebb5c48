job "j" {
  priority = 1 +
    2
}
