job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      user = file("/etc/passwd")
    }
  }
}
