// Job files to begin with.

const task = (command: string, driver = "raw_exec"): string => `    task "main" {
      driver = "${driver}"

      config {
${command}
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
`;

const shell = (text: string): string => `        command = "/bin/sh"
        args    = ["-c", "${text}"]`;

const service = `job "example" {
  group "main" {
    count = 1

${task(shell("while true; do date; sleep 5; done"))}  }
}
`;

const web = `job "web" {
  group "main" {
    count = 2

    network {
      port "http" {}
    }

    service {
      name     = "web"
      port     = "http"
      provider = "nomad"

      check {
        type     = "tcp"
        interval = "10s"
        timeout  = "2s"
      }
    }

    update {
      max_parallel = 1
      auto_revert  = true
    }

${task(shell("exec python3 -m http.server ${NOMAD_PORT_http}"))}  }
}
`;

const batch = `job "once" {
  type = "batch"

  group "main" {
${task(shell("echo done"))}  }
}
`;

const periodic = `job "nightly" {
  type = "batch"

  periodic {
    crons            = ["0 2 * * *"]
    prohibit_overlap = true
    time_zone        = "UTC"
  }

  group "main" {
${task(shell("date"))}  }
}
`;

const dispatched = `job "on-demand" {
  type = "batch"

  parameterized {
    payload       = "optional"
    meta_required = ["who"]
  }

  group "main" {
${task(shell("echo hello $NOMAD_META_who"))}  }
}
`;

const system = `job "everywhere" {
  type = "system"

  group "main" {
${task(shell("while true; do uptime; sleep 60; done"))}  }
}
`;

const container = `job "container" {
  group "main" {
    network {
      port "http" {
        to = 80
      }
    }

${task(`        image = "nginx:1.27"
        ports = ["http"]`, "docker")}  }
}
`;

export const templates: readonly (readonly [string, string])[] = [["Service", service], ["Service with a port and a check", web], ["Batch, once", batch], ["Batch, by a calendar", periodic],
  ["Batch, on demand", dispatched], ["On every client", system], ["Container", container]];
