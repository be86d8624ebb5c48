# A batch job: it counts to three, writes the result into its task directory, and completes.
job "batch" {
  type = "batch"

  group "count" {
    task "count" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "for i in 1 2 3; do echo $i; sleep 0.2; done | tee local/result"]
      }

      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
