job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = { b.c = 1 }
      }
    }
  }
}
