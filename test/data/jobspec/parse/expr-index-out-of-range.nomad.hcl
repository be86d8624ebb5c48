job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = [1][2]
      }
    }
  }
}
