job "j" {
  group "g" {
    network {
      mode     = "bridge"
      hostname = "h"
      mbits    = 10
      dns {
        servers = ["1.1.1.1"]
        options = ["ndots:2"]
      }
      port "http" {
        to = 8080
      }
      port "static" {
        static       = 80
        to           = -1
        host_network = "public"
      }
      port "zero" {
        static = 0
      }
    }
    network {
      mode = "host"
    }
    task "t" {
      resources {
        cores      = 2
        memory     = 100
        memory_max = 200
        disk       = 10
        iops       = 5
        network {
          port "old" {}
        }
        device "nvidia/gpu" {
          count = 2
          constraint {
            attribute = "${device.attr.memory}"
            operator  = ">="
            value     = "2 GiB"
          }
          affinity {
            attribute = "a"
            value     = "b"
          }
        }
      }
    }
  }
}
