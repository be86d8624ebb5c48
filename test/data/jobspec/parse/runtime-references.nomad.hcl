variable "p" {
  default = "http"
}
job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      env {
        A = "${NOMAD_PORT_http}"
        B = "${var.p}://${NOMAD_IP_http}:${NOMAD_PORT_http}/"
        C = attr.kernel.name
        D = upper(node.class)
        E = "${meta.a.b[0].c}"
        F = "${env["HOME"]}"
        G = "${ NOMAD_ALLOC_ID }"
        H = "{${NOMAD_ALLOC_ID}}"
        I = "{${A} }"
        J = "a ${~ X ~} b"
        K = NOMAD_X == "y" ? 1 : 2
        L = "$${X}"
        M = "${device.attr.memory}"
        N = "${
NOMAD_Y}"
        O = "{\"a\": \"${NOMAD_Z}\"}"
      }
      constraint {
        attribute = "${attr.kernel.name}"
        value     = attr.os.name
      }
    }
  }
}
