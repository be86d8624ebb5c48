job "j" {
  group "g" {
    scaling {
      min = 2
      max = 5
    }
  }
}
