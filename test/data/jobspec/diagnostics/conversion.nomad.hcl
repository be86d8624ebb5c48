job "web" {
  datacenters = "dc1"

  group "g" {
    count = 1.5

    task "t" {
      kill_timeout = "10"
      leader       = "maybe"

      env {
        A = null
      }

      resources {
        cpu = "lots"
      }
    }
  }
}
