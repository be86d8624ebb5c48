job "j" {
  group "g" {
    service {
      connect {
        gateway {
          proxy {
            connect_timeout                     = "500ms"
            envoy_gateway_bind_tagged_addresses = true
            envoy_gateway_no_default_bind       = true
            envoy_dns_discovery_type            = "STRICT_DNS"
            envoy_gateway_bind_addresses "a" {
              address = "10.0.0.1"
              port    = 8888
            }
            config {
              foo = 1
            }
          }
          ingress {
            tls {
              enabled         = true
              tls_min_version = "TLSv1_2"
              cipher_suites   = ["X"]
            }
            listener {
              port     = 80
              protocol = "http"
              service {
                name  = "s"
                hosts = ["h"]
              }
            }
            listener {
              port = 81
            }
          }
        }
        sidecar_task {}
      }
    }
    service {
      connect {
        gateway {
          proxy {}
          terminating {
            service {
              name      = "x"
              ca_file   = "ca"
              cert_file = "c"
              key_file  = "k"
              sni       = "s"
            }
          }
        }
      }
    }
    service {
      connect {
        gateway {
          mesh {}
        }
      }
    }
  }
}
