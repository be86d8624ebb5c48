job "web" {
  name = "ÿþ"
}
