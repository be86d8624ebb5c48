job "j" {
  group "g" {
    dynamic "servce" {
      for_each = []
      content {}
    }
  }
}
