job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      env {
        "a.b" = 1
      }
    }
  }
}
