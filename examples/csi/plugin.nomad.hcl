# The sample plugin of CSI on each node: its volumes are directories below /var/lib/csi-local.
job "csi-local" {
  type = "system"

  group "plugin" {
    task "plugin" {
      driver = "raw_exec"

      config {
        command = "/usr/local/libexec/nomadctl/nomadctl-csi-local"
        args    = ["-node=${node.unique.name}"]
      }

      csi_plugin {
        id   = "local"
        type = "monolith"
      }

      resources {
        memory = 64
      }
    }
  }
}
