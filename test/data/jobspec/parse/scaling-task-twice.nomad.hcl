job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      scaling "cpu" {
        max = 2
      }
      scaling "CPU" {
        max = 3
      }
    }
  }
}
