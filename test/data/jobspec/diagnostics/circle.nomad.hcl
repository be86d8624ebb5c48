locals {
  a = local.b
  b = "${local.c}-x"
  c = upper(local.a)
}

job "web" {
  name = local.a
}
