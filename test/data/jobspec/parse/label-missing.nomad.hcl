job "j" {
  group {
  }
}
