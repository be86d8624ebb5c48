job "j" {
  group "g" {
    dynamic "service" {
      for_each = convert(["b", "a"], set(string))
      content {
        name = "${service.key}-${service.value}"
      }
    }
  }
}
