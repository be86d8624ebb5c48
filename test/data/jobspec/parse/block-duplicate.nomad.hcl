job "j" {
  group "g" {
    update {}
    update {}
  }
}
