job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        größe = "x"
        a-b   = 1
        _c    = 2
      }
    }
  }
}
