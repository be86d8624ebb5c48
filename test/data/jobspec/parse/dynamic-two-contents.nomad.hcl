job "j" {
  group "g" {
    dynamic "service" {
      for_each = ["a"]
      content {}
      content {}
    }
  }
}
