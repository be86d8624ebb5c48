job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      env {
        A = "${upper("a${"b"}c")}"
      }
    }
  }
}
