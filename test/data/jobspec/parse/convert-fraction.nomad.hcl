job "j" {
  priority = 1.5
}
