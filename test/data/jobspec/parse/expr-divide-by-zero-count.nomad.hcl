job "j" {
  group "g" {
    count = 1 / 0
  }
}
