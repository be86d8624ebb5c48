job "j" {
  group "g" {
    count = 1
    count = 2
  }
}
