job "j" {
  meta = null
}
