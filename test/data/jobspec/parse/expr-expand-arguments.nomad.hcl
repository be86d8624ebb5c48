job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        a = max([1, 5, 3]...)
        b = format("%s-%d", "x", 3,)
      }
    }
  }
}
