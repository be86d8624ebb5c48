job "j" {
  group "g" {
    dynamic "service" {
      for_each = ["a"]
      iterator = "x"
      content {}
    }
  }
}
