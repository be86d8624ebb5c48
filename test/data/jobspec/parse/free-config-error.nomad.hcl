job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = upper(1, 2)
        b = [1][5]
      }
    }
  }
}
