# Writes the time into the volume "data" (volume.hcl) each second.
job "writer" {
  group "writer" {
    volume "data" {
      type            = "csi"
      source          = "data"
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
    }

    task "writer" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while :; do date >> /data/log; sleep 1; done"]
      }

      volume_mount {
        volume      = "data"
        destination = "/data"
      }
    }
  }
}
