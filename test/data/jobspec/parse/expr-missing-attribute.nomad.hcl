job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = { b = 1 }.c
      }
    }
  }
}
