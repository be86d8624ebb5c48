job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      user = basename("/a/b")
    }
  }
}
