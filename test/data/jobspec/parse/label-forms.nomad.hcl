job j {
  group "a\"b" {
    task t {
      driver = "exec"
    }
  }
  group "$${x}" {
    task "" {}
  }
}
