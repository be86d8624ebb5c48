job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      user = upper("a", "b")
    }
  }
}
