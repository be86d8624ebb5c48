job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      scaling "CPU" {
        max = 500
        policy {
          a = 1
        }
      }
      scaling "mem" {
        min = 1
        max = 2
      }
    }
  }
}
