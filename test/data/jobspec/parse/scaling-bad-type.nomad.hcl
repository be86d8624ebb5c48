job "j" {
  group "g" {
    scaling {
      max  = 2
      type = "vertical"
    }
  }
}
