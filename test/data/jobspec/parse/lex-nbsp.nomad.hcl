job "j" {
  type = "batch"
}
