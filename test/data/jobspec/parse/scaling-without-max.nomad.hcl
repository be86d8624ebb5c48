job "j" {
  group "g" {
    scaling {
      min = 2
    }
  }
}
