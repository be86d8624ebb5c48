job "j" {
  meta = { a = 1 }
  meta {
    b = 2
  }
}
