job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = true ? [1] : {}
      }
    }
  }
}
