job "j" {
  priority = " 5"
}
