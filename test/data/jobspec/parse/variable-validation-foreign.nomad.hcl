variable "a" {
  default = "x"
}
variable "b" {
  default = "x"
  validation {
    condition     = var.a != ""
    error_message = "No."
  }
}
job "j" {

}
