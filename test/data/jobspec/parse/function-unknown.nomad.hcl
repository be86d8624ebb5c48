job "j" {
  group "g" {
    count = maxx(1)
  }
}
