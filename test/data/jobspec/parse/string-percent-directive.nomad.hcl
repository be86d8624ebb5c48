job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      env {
        A = "%{http_code}"
      }
    }
  }
}
