# A configuration that follows the cluster: a file made of a variable and of a service, rewritten and
# announced by a signal when either changes, and an environment that restarts the task.
#
#   nomadctl var put nomad/jobs/templates greeting=hello color=blue
#   nomadctl job run examples/templates.nomad.hcl
#   nomadctl alloc logs -job templates
#   nomadctl var put -force nomad/jobs/templates greeting=ahoy color=blue
#   nomadctl job status templates
job "templates" {
  group "app" {
    network {
      port "http" {}
    }

    # What the template below finds with nomadService.
    service {
      name     = "greeter"
      port     = "http"
      provider = "nomad"
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = ["-c", <<-EOT
          trap 'echo "the file is another:"; cat local/app.conf' HUP
          echo "color is $COLOR"; cat local/app.conf
          while true; do sleep 1 & wait $!; done
        EOT
        ]
      }

      template {
        destination   = "local/app.conf"
        change_mode   = "signal"
        change_signal = "SIGHUP"

        # How long it waits for more changes; without it 5 seconds.
        wait {
          min = "100ms"
          max = "1s"
        }

        data = <<-EOT
          {{- with nomadVar "nomad/jobs/templates" }}
          greeting = {{ .greeting }}
          {{- end }}
          {{- range nomadService "greeter" }}
          peer = {{ .Address }}:{{ .Port }}
          {{- end }}
        EOT
      }

      # KEY=value lines become variables of the task; a change restarts it.
      template {
        destination = "secrets/app.env"
        env         = true
        data        = "COLOR={{ with nomadVar \"nomad/jobs/templates\" }}{{ .color }}{{ end }}\n"
      }

      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
