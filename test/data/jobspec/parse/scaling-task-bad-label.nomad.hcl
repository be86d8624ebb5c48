job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      scaling "disk" {
        max = 2
      }
    }
  }
}
