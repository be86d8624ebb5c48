job "j" {
  type = "batch"
  group "g" {
    task "t" {}
  }
}
