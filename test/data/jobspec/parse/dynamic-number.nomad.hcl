job "j" {
  group "g" {
    dynamic "service" {
      for_each = 5
      content {}
    }
  }
}
