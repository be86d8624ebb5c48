# A task that always fails: it is restarted twice, as its policy allows, and then the allocation
# fails and is not placed again.
job "failing" {
  type = "batch"

  group "fail" {
    restart {
      attempts = 2
      interval = "10m"
      delay    = "1s"
      mode     = "fail"
    }

    reschedule {
      attempts  = 0
      unlimited = false
    }

    task "fail" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo about to fail >&2; exit 3"]
      }

      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
