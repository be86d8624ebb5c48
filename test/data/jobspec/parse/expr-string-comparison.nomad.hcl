job "j" {
  all_at_once = "a" < "b"
}
