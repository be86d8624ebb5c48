job "j" {
  type = "sysbatch"
  group "g" {
    task "t" {}
  }
}
