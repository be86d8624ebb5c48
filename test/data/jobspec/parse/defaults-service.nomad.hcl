job "j" {
  type = "service"
  group "g" {
    task "t" {}
  }
}
