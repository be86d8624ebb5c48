job "j" {
  all_at_once = "True"
}
