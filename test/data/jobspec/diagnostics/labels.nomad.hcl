job "web" {
  group {
    count = 1
  }

  group "a" "b" {
    task "t" {
      driver = "exec"
    }
  }

  update "now" {}
}
