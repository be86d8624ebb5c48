job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      env {
        A = "a${null}"
      }
    }
  }
}
