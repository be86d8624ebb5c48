job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = NOMAD_X.*.y
      }
    }
  }
}
