job "j" {
  region = var.nope
}
