job "web" {
  priority = 1 +
    2
}
