variable "a" {
  default = "x"
  validation {
    condition = var.a != ""
  }
}
job "j" {

}
