job "j" {
  meta = { a = null }
}
