job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      user = null
    }
  }
}
