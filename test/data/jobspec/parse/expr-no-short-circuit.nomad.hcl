job "j" {
  all_at_once = true || null
}
