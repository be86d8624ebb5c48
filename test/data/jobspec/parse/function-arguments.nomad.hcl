job "j" {
  group "g" {
    count = max()
  }
}
