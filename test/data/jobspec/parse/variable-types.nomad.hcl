variable "s" {
  type    = string
  default = 42
}
variable "l" {
  type    = list(number)
  default = ["1", 2]
}
variable "m" {
  type    = map(string)
  default = { a = 1, b = true }
}
variable "o" {
  type    = object({ a = string, b = list(bool) })
  default = { a = 1, b = ["true"], dropped = 1 }
}
variable "t" {
  type    = tuple([string, number])
  default = ["x", "5"]
}
variable "set" {
  type    = set(string)
  default = ["b", "a", "b"]
}
variable "n" {
  type    = string
  default = null
}
variable "untyped" {
  default = { x = ["y"] }
}
variables {
  short = "form"
  other = 5
}
job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        s     = var.s
        l     = var.l
        m     = var.m
        o     = var.o
        t     = var.t
        set   = var.set
        n     = var.n
        u     = var.untyped.x[0]
        short = "${var.short}-${var.other}"
      }
    }
  }
}
