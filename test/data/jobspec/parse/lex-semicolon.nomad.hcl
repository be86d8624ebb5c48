job "j" {
  type = "batch";
}
