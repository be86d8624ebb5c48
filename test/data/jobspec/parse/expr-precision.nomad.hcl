job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      env {
        A = 1 / 3
        B = 1e6
        C = 1.10
        D = 3.0
        E = 1e30
      }
    }
  }
}
