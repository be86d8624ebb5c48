job "j" {
  group "g" {
    dynamic "service" {
      for_each = null
      content {}
    }
  }
}
