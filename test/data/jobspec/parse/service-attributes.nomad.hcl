job "j" {
  group "g" {
    service {}
    service {
      name                = "web-${TASKGROUP}"
      provider            = "nomad"
      port                = 80
      tags                = ["a", "b"]
      canary_tags         = ["c"]
      address_mode        = "host"
      address             = "10.0.0.1"
      task                = "t"
      on_update           = "ignore_warnings"
      enable_tag_override = true
      meta {
        k = "v"
      }
      canary_meta {}
      tagged_addresses {
        lan = "1.2.3.4"
      }
      check_restart {
        limit           = 3
        grace           = "10s"
        ignore_warnings = true
      }
      check {
        name                     = "c"
        type                     = "http"
        path                     = "/health"
        protocol                 = "https"
        port                     = "http"
        expose                   = true
        address_mode             = "driver"
        advertise                = "1.1.1.1"
        interval                 = "10s"
        timeout                  = "2s"
        initial_status           = "passing"
        tls_server_name          = "s"
        tls_skip_verify          = true
        method                   = "POST"
        body                     = "{}"
        success_before_passing   = -1
        failures_before_critical = 3
        task                     = "t"
        on_update                = "ignore"
        header {
          Accept = ["a", "b"]
          Empty  = []
        }
        check_restart {
          limit = 5
        }
      }
      check {
        type         = "script"
        command      = "/bin/true"
        args         = ["-x"]
        grpc_service = "g"
        grpc_use_tls = true
      }
    }
    task "t" {
      service {
        port = "x"
      }
    }
  }
}
