job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = { for v in ["x", "x"] : v => 1 }
      }
    }
  }
}
