job "j" {
  group "g" {
    dynamic "task" {
      for_each = ["a"]
      content {}
    }
  }
}
