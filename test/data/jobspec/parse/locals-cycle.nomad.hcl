locals {
  a = local.b
}
job "j" {
  region = local.a
}
