job "j" {
  group "g" {
    service {
      name = "api"
      connect {
        sidecar_service {
          tags                      = ["t"]
          port                      = "p"
          disable_default_tcp_check = true
          meta {
            a = "b"
          }
          proxy {
            local_service_address = "127.0.0.1"
            local_service_port    = 80
            upstreams {
              destination_name       = "db"
              destination_namespace  = "n"
              destination_peer       = "p"
              destination_type       = "service"
              local_bind_port        = 5432
              local_bind_address     = "0.0.0.0"
              local_bind_socket_path = "/s"
              local_bind_socket_mode = "0600"
              datacenter             = "dc2"
              mesh_gateway {
                mode = "local"
              }
              config {
                limits { max = 1 }
              }
            }
            expose {
              path {
                path            = "/h"
                protocol        = "http"
                local_path_port = 80
                listener_port   = "x"
              }
            }
            config {
              a = { b = 1 }
            }
          }
        }
        sidecar_task {
          name   = "st"
          driver = "docker"
          user   = "u"
          config {
            image = "envoy"
          }
          env {
            E = 1
          }
          meta {}
          resources {
            cpu = 50
          }
          logs {
            max_files = 1
          }
          kill_timeout   = "1s"
          shutdown_delay = "2s"
          kill_signal    = "SIGTERM"
        }
      }
    }
    service {
      connect {
        native = true
      }
    }
  }
}
