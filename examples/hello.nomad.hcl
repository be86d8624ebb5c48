# A small web server on a port that the scheduler chooses: the first job to run.
#
#   nomadctl job run examples/hello.nomad.hcl
#   nomadctl job status hello
job "hello" {
  group "web" {
    network {
      port "http" {}
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "/usr/bin/python3"
        args    = ["-u", "-m", "http.server", "${NOMAD_PORT_http}", "--bind", "127.0.0.1"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
