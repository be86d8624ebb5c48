job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      action "a" {
        command = "x"
      }
    }
  }
}
