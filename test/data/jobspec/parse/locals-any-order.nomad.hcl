locals {
  c = "${local.b}!"
  a = 1
}
locals {
  b = local.a + 1
  r = "${NOMAD_IP_x}:${local.a}"
}
job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        c = local.c
        r = local.r
      }
    }
  }
}
