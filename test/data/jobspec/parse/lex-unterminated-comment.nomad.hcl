job "j" {
  type = "batch"
/* never closed
}
