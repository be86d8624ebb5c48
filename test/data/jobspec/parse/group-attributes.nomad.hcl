job "j" {
  group "g" {
    count                        = 3
    shutdown_delay               = "1s"
    stop_after_client_disconnect = "2s"
    max_client_disconnect        = "3s"
    consul {
      namespace = "cn"
    }
    ephemeral_disk {
      sticky  = true
      migrate = true
      size    = 500
    }
    scaling {
      min     = 1
      max     = 10
      enabled = false
      policy {
        cooldown = "1m"
        check "a" {
          source = "x"
        }
      }
    }
    volume "v" {
      type            = "csi"
      source          = "s"
      read_only       = true
      per_alloc       = true
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
      mount_options {
        fs_type     = "ext4"
        mount_flags = ["noatime"]
      }
    }
    volume "w" {
      type   = "host"
      source = "h"
    }
    volume "w" {
      type   = "host"
      source = "later"
    }
  }
}
