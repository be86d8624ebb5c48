job "j" {
  type = "system"
  group "g" {
    task "t" {}
  }
}
